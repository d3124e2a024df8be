package main

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/process"
	"github.com/onefold/onefold/eventstore/registry"
	"github.com/onefold/onefold/eventstore/subscription"
)

// HoldPlaced is the event of a title for which a member waits.
type HoldPlaced struct{ Title, Member string }

// PlaceHold is the command.
type PlaceHold struct{ Title, Member string }

// ErrWaiting is the error of a second hold.
var ErrWaiting = errors.New("the member waits for this title already")

// titles returns the decider of titles. Its state is the members who placed a hold.
func titles(s *eventstore.Store, r *registry.Registry) *registry.Decider[[]string, PlaceHold] {
	return &registry.Decider[[]string, PlaceHold]{
		Store: s, Registry: r, Type: "title",
		Decide: func(members []string, c PlaceHold) ([]any, error) {
			if slices.Contains(members, c.Member) {
				return nil, ErrWaiting
			}
			return []any{HoldPlaced(c)}, nil
		},
		Fold: registry.Fold(r, 1, registry.On(func(members []string, e HoldPlaced) ([]string, error) {
			return append(slices.Clip(members), e.Member), nil
		})),
	}
}

// Holds is the state of the process of a title: it offers each copy that is free to the member who has
// waited longest.
type Holds struct {
	Waiting []string          // members, in order
	Free    []string          // copies that are in the library and wait for nobody
	Offers  map[string]string // members by copy
}

// holds returns the process manager. collect is how long a copy is kept for a member to collect it.
func holds(s *eventstore.Store, r *registry.Registry, collect time.Duration) (*process.Manager[Holds], error) {
	desk := copies(s, r)
	return process.New(s, process.Definition[Holds]{
		Name: "holds", Registry: r, Only: []eventstore.FeedOption{eventstore.OfAggregateType("copy", "title")},
		Key: title, React: func(h Holds, m *process.Message) (Holds, process.Reaction, error) { return react(h, m, collect) },
		Handle: func(ctx context.Context, command any, options ...eventstore.AppendOption) (err error) {
			switch c := command.(type) {
			case Offer:
				_, err = desk.Handle(ctx, c.Copy, c, options...)
			case Withdraw:
				_, err = desk.Handle(ctx, c.Copy, c, options...)
			}
			return err
		},
	}, subscription.Options{})
}

// title returns the title that an event is about.
func title(m *process.Message) string {
	switch e := m.Data.(type) {
	case HoldPlaced:
		return e.Title
	case Acquired:
		return e.Title
	case Lent:
		return e.Title
	case Returned:
		return e.Title
	case Withdrawn:
		return e.Title
	}
	return ""
}

// react decides what follows from an event, a deadline or a refusal.
func react(h Holds, m *process.Message, collect time.Duration) (Holds, process.Reaction, error) {
	h.Waiting, h.Free, h.Offers = slices.Clone(h.Waiting), slices.Clone(h.Free), maps.Clone(h.Offers)
	var cancel []string
	switch e := m.Data.(type) {
	case HoldPlaced:
		h.Waiting = append(h.Waiting, e.Member)
	case Acquired, Returned, Withdrawn:
		h.Free = append(h.Free, m.Event.EventKey.ID.ID)
	case Lent:
		copy := m.Event.EventKey.ID.ID
		h.Free = slices.DeleteFunc(h.Free, func(free string) bool { return free == copy })
		if h.Offers[copy] == e.Member {
			delete(h.Offers, copy)
			cancel = append(cancel, copy)
		}
	case Offer: // refused: somebody was faster. The member is the next one again
		h.Waiting = slices.Insert(h.Waiting, 0, e.Member)
		delete(h.Offers, e.Copy)
		cancel = append(cancel, e.Copy)
	}
	if m.Deadline != "" {
		late := Withdraw{Copy: m.Deadline, Member: h.Offers[m.Deadline]}
		delete(h.Offers, m.Deadline)
		return h, process.Reaction{Commands: []any{late}}, nil
	}
	next, reaction := h.offer(m.At.Add(collect))
	reaction.Cancel = cancel
	return next, reaction, nil
}

// offer offers free copies to waiting members, until a deadline that has the name of the copy.
func (h Holds) offer(until time.Time) (Holds, process.Reaction) {
	var r process.Reaction
	for len(h.Free) > 0 && len(h.Waiting) > 0 {
		o := Offer{Copy: h.Free[0], Member: h.Waiting[0]}
		h.Free, h.Waiting = h.Free[1:], h.Waiting[1:]
		if h.Offers == nil {
			h.Offers = map[string]string{}
		}
		h.Offers[o.Copy] = o.Member
		r.Commands = append(r.Commands, o)
		r.Set = append(r.Set, process.Deadline{Name: o.Copy, At: until})
	}
	return h, r
}
