package eventstore_test

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/onefold/onefold/engine/enginetest"
	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/eventstoretest"
	"github.com/onefold/onefold/table"
)

// world is an in-memory event store.
type world struct {
	*testing.T
	ctx   context.Context
	db    *enginetest.DB
	table *table.Table
	store *eventstore.Store

	oneByOne  bool
	pageBytes int
}

func newWorld(t *testing.T, o eventstore.Options) *world {
	t.Helper()
	s := eventstoretest.New(t, o)
	return &world{T: t, ctx: t.Context(), db: s.DB, table: s.Table, store: s.Store, oneByOne: o.PutMode, pageBytes: o.PageBytes}
}

// both runs a test with and without transactions, with pages of the usual size and with short ones.
func both(t *testing.T, test func(*world)) {
	for name, o := range map[string]eventstore.Options{
		"transactions": {}, "one by one": {PutMode: true}, "short pages": {PageBytes: 1}, "short pages one by one": {PutMode: true, PageBytes: 200},
	} {
		t.Run(name, func(t *testing.T) { test(newWorld(t, o)) })
	}
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// noError is must for goroutines.
func (w *world) noError(err error) {
	w.Helper()
	if err != nil {
		w.Error(err)
	}
}

func order(n string) eventstore.ID { return eventstore.ID{Type: "order", ID: n} }

// said returns events of the given types, with their type as payload.
func said(types ...string) []eventstore.NewEvent {
	events := make([]eventstore.NewEvent, len(types))
	for i, name := range types {
		events[i] = eventstore.NewEvent{Type: name, Payload: []byte(`"` + name + `"`)}
	}
	return events
}

func (w *world) append(id eventstore.ID, expected eventstore.Expected, types ...string) eventstore.Commit {
	w.Helper()
	c, err := w.store.Append(w.ctx, id, expected, said(types...))
	w.must(err)
	return c
}

// story returns a stream as text: "1 Placed 2 Paid".
func (w *world) story(id eventstore.ID, options ...eventstore.ReadOption) string {
	w.Helper()
	var b strings.Builder
	for e, err := range w.store.Read(w.ctx, id, options...) {
		w.must(err)
		fmt.Fprintf(&b, "%d %s ", e.Seq, e.EventType)
	}
	return strings.TrimSpace(b.String())
}

func (w *world) isStory(id eventstore.ID, want string, options ...eventstore.ReadOption) {
	w.Helper()
	if have := w.story(id, options...); have != want {
		w.Errorf("%s: %q, want %q", id, have, want)
	}
}

// tally is a fold that counts the events of each type.
var tally = eventstore.Fold[map[string]int]{Version: 1, Apply: func(m map[string]int, e eventstore.Event) (map[string]int, error) {
	next := maps.Clone(m)
	if next == nil {
		next = map[string]int{}
	}
	next[e.EventType]++
	return next, nil
}}
