package eventstoretest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/onefold/onefold/engine/enginetest"
	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/registry"
)

// Spec describes how to test decisions of one kind. Each test runs in an in-memory store, through
// Transact.
type Spec[S any] struct {
	Fold     eventstore.Fold[S]
	Registry *registry.Registry // encodes events; nil: all are eventstore.NewEvents
	ID       eventstore.ID      // of the aggregate; default test/1
}

// Given starts with the aggregate's past events: values of registered types, or
// eventstore.NewEvents.
func (s Spec[S]) Given(t enginetest.T, events ...any) *Given[S] {
	t.Helper()
	if s.ID == (eventstore.ID{}) {
		s.ID = eventstore.ID{Type: "test", ID: "1"}
	}
	g := &Given[S]{spec: s, t: t, store: New(t, eventstore.Options{}), before: int64(len(events))}
	for _, e := range g.newEvents(events) { // one by one, because there may be too many for one append
		if _, err := g.store.Append(context.Background(), s.ID, eventstore.Any(), []eventstore.NewEvent{e}); err != nil {
			t.Fatalf("given: %v", err)
		}
	}
	return g
}

// Given is the past of an aggregate.
type Given[S any] struct {
	spec   Spec[S]
	t      enginetest.T
	store  *Store
	before int64
}

func (g *Given[S]) newEvents(vs []any) []eventstore.NewEvent {
	g.t.Helper()
	events := make([]eventstore.NewEvent, len(vs))
	for i, v := range vs {
		e, ok := v.(eventstore.NewEvent)
		var err error
		switch {
		case ok:
		case g.spec.Registry == nil:
			err = errors.New("is no eventstore.NewEvent, and there is no registry")
		default:
			e, err = g.spec.Registry.Encode(v)
		}
		if err != nil {
			g.t.Fatalf("eventstoretest: event %d, a %T: %v", i, v, err)
		}
		events[i] = e
	}
	return events
}

// When makes a decision and appends its events.
func (g *Given[S]) When(decide func(eventstore.Loaded[S]) ([]eventstore.NewEvent, error)) *When[S] {
	g.t.Helper()
	at, err := eventstore.Transact(context.Background(), g.store.Store, g.spec.ID, g.spec.Fold, decide)
	return &When[S]{given: g, at: at, err: err}
}

// When is the result of a decision.
type When[S any] struct {
	given *Given[S]
	at    eventstore.Loaded[S]
	err   error
}

// Then checks that exactly these events happened: values of registered types, or
// eventstore.NewEvents. It compares type, version and payload, JSON by content. Without arguments
// it checks that nothing happened.
func (w *When[S]) Then(want ...any) *When[S] {
	g := w.given
	g.t.Helper()
	if w.err != nil {
		g.t.Errorf("then: %v; want %s", w.err, describe(g.newEvents(want)))
		return w
	}
	events, have, same := g.newEvents(want), []eventstore.NewEvent{}, true
	for e, err := range g.store.Read(context.Background(), g.spec.ID, eventstore.From(g.before+1)) {
		if err != nil {
			g.t.Fatalf("then: %v", err)
		}
		have = append(have, eventstore.NewEvent{Type: e.EventType, Schema: e.Schema, Payload: e.Payload})
		same = same && len(have) <= len(events) && equal(&have[len(have)-1], &events[len(have)-1])
	}
	if !same || len(have) != len(events) {
		g.t.Errorf("then: %s; want %s", describe(have), describe(events))
	}
	return w
}

// ThenError checks that the decision failed with want, by errors.Is, and that nothing happened.
func (w *When[S]) ThenError(want error) *When[S] {
	g := w.given
	g.t.Helper()
	if !errors.Is(w.err, want) {
		g.t.Errorf("then: the error is %v; want %v", w.err, want)
	}
	if story := g.store.StreamText(g.spec.ID, eventstore.From(g.before+1)); story != "" {
		g.t.Errorf("then: %s happened; want the error %v", story, want)
	}
	return w
}

// ThenState checks the state of the aggregate after the decision, by reflect.DeepEqual.
func (w *When[S]) ThenState(want S) *When[S] {
	w.given.t.Helper()
	if w.err != nil || !reflect.DeepEqual(w.at.State, want) {
		w.given.t.Errorf("then: the state is %+v, %v; want %+v", w.at.State, w.err, want)
	}
	return w
}

func equal(a, b *eventstore.NewEvent) bool {
	if a.Type != b.Type || max(a.Schema, 1) != max(b.Schema, 1) {
		return false
	}
	x, isJSON := parse(a.Payload)
	y, too := parse(b.Payload)
	if isJSON && too {
		return reflect.DeepEqual(x, y)
	}
	return bytes.Equal(a.Payload, b.Payload)
}

// parse parses JSON, with all digits of its numbers.
func parse(text []byte) (v any, ok bool) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	err := d.Decode(&v)
	return v, err == nil && !d.More()
}

// describe formats events.
func describe(events []eventstore.NewEvent) string {
	if len(events) == 0 {
		return "nothing"
	}
	var b bytes.Buffer
	for i, e := range events {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s %q", e.Type, e.Payload)
	}
	return b.String()
}
