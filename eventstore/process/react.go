package process

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/registry"
	"github.com/onefold/onefold/eventstore/subscription"
)

// reactedType is the type of the events in the streams of instances.
const reactedType = "Reacted"

// instance is the state of an instance after a reaction. It is the payload of that reaction's event.
type instance struct {
	State     json.RawMessage  `json:"state"` // decoded for each reaction, because states of the cache are shared
	Ended     bool             `json:"ended,omitempty"`
	Deadlines map[string]int64 `json:"deadlines,omitempty"` // the reactions that set the open deadlines, by name
	Commands  []command        `json:"commands,omitempty"`  // of the reaction
	Set       []Deadline       `json:"set,omitempty"`       // by the reaction
	At        time.Time        `json:"at"`                  // of the message

	reaction eventstore.Event // without payload
}

// command is a command as it is stored: like the event of a registered type.
type command struct {
	Type    string `json:"type"`
	Schema  int    `json:"schema,omitempty"`
	Payload []byte `json:"payload,omitempty"`
}

// applyReaction replaces the state by that of a reaction.
func applyReaction(_ instance, e eventstore.Event) (next instance, err error) {
	if err = json.Unmarshal(e.Payload, &next); err != nil {
		return next, fmt.Errorf("process: reaction %d of %s: %w", e.Seq, e.ID, err)
	}
	e.Payload = nil
	next.reaction = e
	return next, nil
}

// handle reacts to an event, and does what follows.
func (m *Manager[S]) handle(ctx context.Context, e *eventstore.FeedEvent) error {
	if e.Type == m.streamType() {
		return nil
	}
	data, err := m.def.Registry.Decode(&e.Event)
	if errors.Is(err, registry.ErrUnknownType) || err == nil && data == nil {
		return nil
	}
	if err != nil {
		return subscription.Permanent(err)
	}
	message := &Message{Event: e, Data: data, At: e.RecordedAt}
	key := m.def.Key(message)
	if key == "" {
		return nil
	}
	cause := eventstore.Envelope{Correlation: cmp.Or(e.Correlation, e.EventID), Causation: e.EventID, Actor: e.Actor, Tenant: e.Tenant}
	return m.follow(ctx, key, message, e.EventID, cause)
}

// follow reacts to a message with a commit ID, does what follows, and reacts to refusals.
func (m *Manager[S]) follow(ctx context.Context, key string, message *Message, commit string, cause eventstore.Envelope) error {
	type step struct {
		message *Message
		commit  string
	}
	const chain = 10
	for steps, n := []step{{message, commit}}, 0; len(steps) > 0; n++ {
		at, did, err := m.react(ctx, key, steps[0].message, steps[0].commit, cause)
		if err != nil {
			return err
		}
		before := steps[0].commit
		if steps = steps[1:]; !did {
			continue
		}
		refusals, err := m.do(ctx, key, at, before)
		if err != nil {
			return err
		}
		if len(refusals) > 0 && strings.Count(before, ".r") >= chain {
			return subscription.Permanent(fmt.Errorf("%w: %s of instance %q", ErrChain, m.def.Name, key))
		}
		for _, r := range refusals {
			steps = append(steps, step{r.message, refusalOf(before, r.n)})
		}
		reaction := &at.State.reaction
		cause = eventstore.Envelope{Correlation: cmp.Or(reaction.Correlation, reaction.EventID), Causation: reaction.EventID, Actor: reaction.Actor, Tenant: reaction.Tenant}
	}
	return nil
}

// react stores the reaction to a message, once for each commit ID. did is false if there is none: the
// instance has ended, or nothing follows.
func (m *Manager[S]) react(ctx context.Context, key string, message *Message, commit string, cause eventstore.Envelope) (at eventstore.Loaded[instance], did bool, err error) {
	at, err = eventstore.Transact(ctx, m.s, m.id(key), m.fold, func(at eventstore.Loaded[instance]) ([]eventstore.NewEvent, error) {
		next, any, err := m.next(at.State, at.Version, message)
		if err != nil || !any {
			return nil, err
		}
		payload, err := json.Marshal(next)
		if err != nil {
			return nil, subscription.Permanent(fmt.Errorf("%w: state: %w", ErrReaction, err))
		}
		return []eventstore.NewEvent{{Type: reactedType, Payload: payload, Envelope: cause}}, nil
	}, eventstore.CommitID(commit))
	if errors.Is(err, eventstore.ErrInvalid) || errors.Is(err, eventstore.ErrTooLarge) {
		err = subscription.Permanent(fmt.Errorf("%w: instance %q: %w", ErrReaction, key, err))
	}
	return at, at.Version > 0 && at.State.reaction.CommitID == commit, err
}

// next returns the instance after its reaction to a message; any is false if there is none.
func (m *Manager[S]) next(at instance, version int64, message *Message) (next instance, any bool, err error) {
	if at.Ended || message.Deadline != "" && at.Deadlines[message.Deadline] != message.reaction {
		return next, false, nil
	}
	state, err := stateOf[S](&at)
	if err != nil {
		return next, false, err
	}
	state, r, err := m.def.React(state, message)
	if err != nil {
		return next, false, err
	}
	after, err := json.Marshal(state)
	if err != nil {
		return next, false, subscription.Permanent(fmt.Errorf("%w: state: %w", ErrReaction, err))
	}
	next = instance{State: after, Ended: r.End, Set: r.Set, At: message.At}
	if next.Deadlines, err = deadlinesAfter(at.Deadlines, version+1, message, &r); err != nil {
		return next, false, err
	}
	if next.Commands, err = m.encode(r.Commands); err != nil {
		return next, false, err
	}
	unchanged := len(next.Commands)+len(r.Set)+len(r.Cancel) == 0 && !r.End && message.Deadline == ""
	if unchanged && len(at.State) == 0 { // it has not begun: compare with the zero S
		var zero S
		at.State, err = json.Marshal(zero)
	}
	return next, !unchanged || !bytes.Equal(at.State, next.State), err
}

// deadlinesAfter returns the open deadlines after a reaction.
func deadlinesAfter(open map[string]int64, reaction int64, message *Message, r *Reaction) (map[string]int64, error) {
	next := map[string]int64{}
	maps.Copy(next, open)
	delete(next, message.Deadline)
	for _, name := range r.Cancel {
		delete(next, name)
	}
	for _, d := range r.Set {
		if d.Name == "" || len(d.Name) > maxDeadline || strings.ContainsRune(d.Name, '#') || d.At.IsZero() {
			return nil, subscription.Permanent(fmt.Errorf("%w: deadline %q at %s: use a name of 1 to %d bytes without # and a time", ErrReaction, d.Name, d.At, maxDeadline))
		}
		next[d.Name] = reaction
	}
	if r.End {
		return nil, nil
	}
	return next, nil
}

// encode encodes commands as they are stored.
func (m *Manager[S]) encode(values []any) (commands []command, err error) {
	for _, v := range values {
		e, err := m.def.Registry.Encode(v)
		if err != nil {
			return nil, subscription.Permanent(fmt.Errorf("%w: command: %w", ErrReaction, err))
		}
		commands = append(commands, command{e.Type, e.Schema, e.Payload})
	}
	return commands, nil
}

// stateOf decodes the state of an instance; before its first reaction it is the zero S.
func stateOf[S any](at *instance) (state S, err error) {
	if len(at.State) > 0 {
		if err = json.Unmarshal(at.State, &state); err != nil {
			err = subscription.Permanent(fmt.Errorf("%w: stored state: %w", ErrReaction, err))
		}
	}
	return state, err
}

// refusal is a command that was refused.
type refusal struct {
	n       int // index of the command in its reaction
	message *Message
}

// refusalOf returns the commit ID of the reaction to the refusal of a command.
func refusalOf(commit string, n int) string { return fmt.Sprintf("%s.r%d", commit, n) }

// do sets the deadlines of a reaction with a commit ID, and handles its commands. It may be repeated:
// a command that was refused stays refused, although its aggregate might accept it now.
func (m *Manager[S]) do(ctx context.Context, key string, at eventstore.Loaded[instance], commit string) (refusals []refusal, err error) {
	if err := m.setDeadlines(ctx, key, at.Version, at.State.Set); err != nil {
		return nil, err
	}
	reaction := &at.State.reaction
	ctx = registry.CausedBy(ctx, reaction)
	for i, c := range at.State.Commands {
		v, err := m.def.Registry.Decode(&eventstore.Event{EventType: c.Type, Schema: c.Schema, Payload: c.Payload})
		if err != nil {
			return nil, subscription.Permanent(fmt.Errorf("%w: command %d of reaction %d: %w", ErrReaction, i, at.Version, err))
		}
		before, err := m.reacted(ctx, key, refusalOf(commit, i))
		if err != nil {
			return nil, err
		}
		if before {
			refusals = append(refusals, refusal{i, &Message{Data: v, Refused: "refused", At: at.State.At}}) // its reaction is stored
			continue
		}
		reason, err := m.command(ctx, v, fmt.Sprintf("%s.%d", reaction.EventID, i))
		if err != nil {
			return nil, fmt.Errorf("process %s: instance %q: command %s: %w", m.def.Name, key, c.Type, err)
		}
		if reason != "" {
			refusals = append(refusals, refusal{i, &Message{Data: v, Refused: reason, At: at.State.At}})
		}
	}
	return slices.Clip(refusals), nil
}
