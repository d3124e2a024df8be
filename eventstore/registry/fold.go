package registry

import (
	"errors"
	"reflect"
	"slices"

	"github.com/onefold/onefold/eventstore"
)

// A Handler is what a fold does with one type of events. On and OnEvent make one.
type Handler[S any] struct {
	goes reflect.Type
	do   func(S, any, *eventstore.Event) (S, error)
}

// On lets a fold add events that are Es to its state. E is a registered type, or Raw.
func On[S, E any](do func(S, E) (S, error)) Handler[S] {
	return Handler[S]{reflect.TypeFor[E](), func(s S, v any, _ *eventstore.Event) (S, error) { return do(s, v.(E)) }}
}

// OnEvent is On for who needs what goes with the event: when it happened, who did it.
func OnEvent[S, E any](do func(S, E, *eventstore.Event) (S, error)) Handler[S] {
	return Handler[S]{reflect.TypeFor[E](), func(s S, v any, e *eventstore.Event) (S, error) { return do(s, v.(E), e) }}
}

// Fold makes a fold of typed handlers, for Load, Transact and snapshots. Registered events that none of them handles change
// nothing. The version is that of the handlers, of the upcasts below them and of the form of S; snapshots of another are not
// used. Two handlers of one type, and handlers of types that are not registered, are errors of Check; the fold returns these,
// too. A fold that is made after Check is checked by itself: its errors are its own, and nothing else fails for them.
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

// handle notes what a fold handles, for Check. After it, it says what is wrong with the fold.
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

// unhandled is what is wrong with handling a type.
func (r *Registry) unhandled(t reflect.Type) error {
	if r.types[t] == nil && t != reflect.TypeFor[Raw]() {
		return invalid("a fold handles %s, which is not registered", t)
	}
	return nil
}
