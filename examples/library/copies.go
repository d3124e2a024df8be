package main

import (
	"errors"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/process"
	"github.com/onefold/onefold/eventstore/registry"
)

// The events of a copy of a book.
type (
	Acquired  struct{ Title string }
	Lent      struct{ Title, Member string }
	Returned  struct{ Title string }
	Offered   struct{ Title, Member string } // it waits at the desk for a member
	Withdrawn struct{ Title, Member string } // the member did not come
)

// Copy is the state of a copy, to decide on commands.
type Copy struct {
	Title  string
	LentTo string // "" while it is in the library
	Offer  string // the member that it waits for; ""; nobody
}

// CopyCommand decides on a copy, and returns what happens.
type CopyCommand interface{ Decide(c Copy) ([]any, error) }

// The commands. Offer and Withdraw come from the process, see holds.go.
type (
	Acquire  struct{ Title string }
	Lend     struct{ Member string }
	Return   struct{}
	Offer    struct{ Copy, Member string }
	Withdraw struct{ Copy, Member string }
)

// Errors of commands.
var (
	ErrUnknown = errors.New("the library does not have this copy")
	ErrLent    = errors.New("the copy is lent")
	ErrOffered = errors.New("the copy waits for another member")
	ErrShelf   = errors.New("the copy is in the library")
)

// Decide acquires a copy, once.
func (a Acquire) Decide(c Copy) ([]any, error) {
	if c.Title != "" {
		return nil, nil
	}
	return []any{Acquired(a)}, nil
}

// Decide lends a copy that is in the library, and does not wait for another member.
func (l Lend) Decide(c Copy) ([]any, error) {
	switch {
	case c.Title == "":
		return nil, ErrUnknown
	case c.LentTo != "":
		return nil, ErrLent
	case c.Offer != "" && c.Offer != l.Member:
		return nil, ErrOffered
	}
	return []any{Lent{c.Title, l.Member}}, nil
}

// Decide takes a copy back.
func (Return) Decide(c Copy) ([]any, error) {
	if c.LentTo == "" {
		return nil, ErrShelf
	}
	return []any{Returned{c.Title}}, nil
}

// Decide offers a copy to a member. If it is not free any more, the process has to know.
func (o Offer) Decide(c Copy) ([]any, error) {
	switch {
	case c.LentTo != "":
		return nil, process.Refused(ErrLent)
	case c.Offer != "":
		return nil, process.Refused(ErrOffered)
	}
	return []any{Offered{c.Title, o.Member}}, nil
}

// Decide withdraws an offer that still stands.
func (w Withdraw) Decide(c Copy) ([]any, error) {
	if c.Offer != w.Member {
		return nil, nil
	}
	return []any{Withdrawn{c.Title, w.Member}}, nil
}

// copies returns the decider of copies.
func copies(s *eventstore.Store, r *registry.Registry) *registry.Decider[Copy, CopyCommand] {
	return &registry.Decider[Copy, CopyCommand]{
		Store: s, Registry: r, Type: "copy",
		Decide: func(c Copy, command CopyCommand) ([]any, error) { return command.Decide(c) },
		Fold: registry.Fold(r, 1,
			registry.On(func(_ Copy, e Acquired) (Copy, error) { return Copy{Title: e.Title}, nil }),
			registry.On(func(c Copy, e Lent) (Copy, error) { return Copy{Title: c.Title, LentTo: e.Member}, nil }),
			registry.On(func(c Copy, _ Returned) (Copy, error) { return Copy{Title: c.Title}, nil }),
			registry.On(func(c Copy, e Offered) (Copy, error) { c.Offer = e.Member; return c, nil }),
			registry.On(func(c Copy, _ Withdrawn) (Copy, error) { c.Offer = ""; return c, nil }),
		),
	}
}
