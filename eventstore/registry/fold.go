package registry

import (
	"errors"
	"reflect"
	"slices"

	"github.com/onefold/onefold/eventstore"
)

// A Handler handles one type of events in a fold. Create it with On or OnEvent.
type Handler[S any] struct {
	goes reflect.Type
	do   func(S, any, *eventstore.Event) (S, error)
}

// On returns a handler for events of type E, a registered type or Raw.
func On[S, E any](do func(S, E) (S, error)) Handler[S] {
	return Handler[S]{reflect.TypeFor[E](), func(s S, v any, _ *eventstore.Event) (S, error) { return do(s, v.(E)) }}
}

// OnEvent is On with the event, for its time and envelope.
func OnEvent[S, E any](do func(S, E, *eventstore.Event) (S, error)) Handler[S] {
	return Handler[S]{reflect.TypeFor[E](), func(s S, v any, e *eventstore.Event) (S, error) { return do(s, v.(E), e) }}
}

// Do returns a handler for events of type E that acts on S, for example a transaction, rather than
// returning the next S.
func Do[S, E any](do func(S, E) error) Handler[S] {
	return On(func(s S, e E) (S, error) { return s, do(s, e) })
}

// Fold returns a fold of typed handlers, for Load, Transact and snapshots. Registered events
// without a handler are ignored. version is that of the handlers, of their upcasts and of the form
// of S; snapshots of other versions are not used. Two handlers for one type, and handlers for
// unregistered types, are errors of Check, and of applying the fold. A fold that is created after
// Check is checked by itself, and its errors affect only it.
func Fold[S any](r *Registry, version int, handlers ...Handler[S]) eventstore.Fold[S] {
	byType := make(map[reflect.Type]Handler[S], len(handlers))
	var goes []reflect.Type
	for _, h := range handlers {
		byType[h.goes] = h
		goes = append(goes, h.goes)
	}
	wrong := r.handle(reflect.TypeFor[S](), goes)
	return eventstore.Fold[S]{Version: version, Apply: func(state S, e eventstore.Event) (S, error) {
		if wrong != nil {
			return state, wrong
		}
		v, err := r.Decode(&e)
		if err != nil || v == nil {
			return state, err
		}
		if h, ok := byType[reflect.TypeOf(v)]; ok {
			return h.do(state, v, &e)
		}
		return state, nil
	}}
}

// handle registers a fold's types for Check. After Check, it returns what is wrong with the fold.
func (r *Registry) handle(to reflect.Type, goes []reflect.Type) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var problems []error
	for i, t := range goes {
		if slices.Contains(goes[:i], t) {
			problems = append(problems, invalid("a fold to %s handles %s twice", to, t))
		}
	}
	if r.verdict.Load() == nil {
		r.problems, r.handled = append(r.problems, problems...), append(r.handled, goes...)
		return nil
	}
	for _, t := range goes {
		problems = append(problems, r.unhandled(t))
	}
	return errors.Join(problems...)
}

// unhandled returns the error of handling an unregistered type.
func (r *Registry) unhandled(t reflect.Type) error {
	if r.types[t] == nil && t != reflect.TypeFor[Raw]() {
		return invalid("a fold handles %s, which is not registered", t)
	}
	return nil
}
