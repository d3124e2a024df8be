package registry

import (
	"cmp"
	"context"

	"github.com/onefold/onefold/eventstore"
)

// Decider is the logic of one type of aggregates: which events follow from a command, and which
// state from events. C is usually an interface that all commands implement.
type Decider[S, C any] struct {
	Store    *eventstore.Store
	Registry *Registry
	Type     string             // of the aggregates
	Fold     eventstore.Fold[S] // evolves the state: see Fold
	// Decide returns the events of a command, as values of registered types. It must have no side
	// effects, because it runs again after a conflict. If it returns none, nothing happens.
	Decide func(state S, command C) ([]any, error)
}

// Handle decides on a command and appends its events, with the envelope that Within has put into
// ctx. Commands for one aggregate take turns. With the option eventstore.CommitID, a command that is
// repeated has the result of the first time. Errors: those of Decide unchanged, and those of
// eventstore.Transact.
func (d *Decider[S, C]) Handle(ctx context.Context, id string, command C, options ...eventstore.AppendOption) (eventstore.Loaded[S], error) {
	envelope, _ := ctx.Value(envelopeKey{}).(eventstore.Envelope)
	decide := func(at eventstore.Loaded[S]) ([]eventstore.NewEvent, error) {
		events, err := d.Decide(at.State, command)
		if err != nil {
			return nil, err
		}
		return d.Registry.EncodeAll(envelope, events...)
	}
	return eventstore.Transact(ctx, d.Store, eventstore.ID{Type: d.Type, ID: id}, d.Fold, decide, options...)
}

// State returns the state of an aggregate. Errors: those of eventstore.Load.
func (d *Decider[S, C]) State(ctx context.Context, id string) (eventstore.Loaded[S], error) {
	return eventstore.Load(ctx, d.Store, eventstore.ID{Type: d.Type, ID: id}, d.Fold)
}

type envelopeKey struct{}

// Within returns a context in which Handle gives events an envelope: who acts for which tenant, and
// in which conversation.
func Within(ctx context.Context, e eventstore.Envelope) context.Context {
	return context.WithValue(ctx, envelopeKey{}, e)
}

// CausedBy returns a context for commands that follow from an event. Their events name it as their
// cause, and belong to its conversation, tenant and actor. An event without a conversation begins
// one, which has its ID.
func CausedBy(ctx context.Context, e *eventstore.Event) context.Context {
	return Within(ctx, eventstore.Envelope{
		Correlation: cmp.Or(e.Correlation, e.EventID), Causation: e.EventID, Actor: e.Actor, Tenant: e.Tenant,
	})
}

// Model returns a function for projection.Definition.Apply that applies typed handlers to a read
// model, as Fold does to a state.
func Model[R any](r *Registry, handlers ...Handler[R]) func(model *R, e *eventstore.Event) error {
	f := Fold(r, 1, handlers...)
	return func(model *R, e *eventstore.Event) error {
		next, err := f.Apply(*model, *e)
		if err == nil {
			*model = next
		}
		return err
	}
}
