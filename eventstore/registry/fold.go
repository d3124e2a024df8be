package registry

import (
	"reflect"

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
// too.
func Fold[S any](r *Registry, version int, handlers ...Handler[S]) eventstore.Fold[S] {
	byType := make(map[reflect.Type]Handler[S], len(handlers))
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.open("fold to %s", reflect.TypeFor[S]()) {
		for _, h := range handlers {
			if _, twice := byType[h.goes]; twice {
				r.problem("a fold to %s handles %s twice", reflect.TypeFor[S](), h.goes)
			}
			byType[h.goes] = h
			r.handled = append(r.handled, h.goes)
		}
	}
	return eventstore.Fold[S]{Version: version, Apply: func(state S, e eventstore.Event) (S, error) {
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
