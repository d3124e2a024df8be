package outbox_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/subscription"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/fold/streamsource"
	"github.com/onefold/onefold/table"
)

// startStore starts an event store in memory, with the worker that writes its feed.
func startStore(t *testing.T) *eventstore.Store {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	db, err := engine.OpenMemory(engine.Options{TTLInterval: -1})
	must(err)
	must(table.MustSchema("test", eventstore.Schema, subscription.Schema).Ensure(t.Context(), db, "onefold"))
	tab := table.New(db, "onefold", table.Options{})
	store, err := eventstore.New(tab, eventstore.Options{})
	must(err)
	source, err := streamsource.OfTable(t.Context(), db, db, "onefold")
	must(err)
	worker, err := fold.NewWorker(tab, source, eventstore.Folds(), fold.Options{Logger: slog.New(slog.DiscardHandler)})
	must(err)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- worker.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := errors.Join(<-ended, db.Close()); err != nil {
			t.Error(err)
		}
	})
	return store
}

// await waits until the subscription has a state.
func await(t *testing.T, store *eventstore.Store, reached func(*subscription.Status) bool) {
	t.Helper()
	for until := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		s, err := subscription.Get(t.Context(), store, "orders")
		if err == nil && reached(&s) {
			return
		}
		if time.Now().After(until) {
			t.Fatalf("lag %d, parked %d: %v", s.Lag(), s.Parked(), err)
		}
	}
}

// TestSubscription publishes a store's events through a subscription of three partitions to a
// receiver that fails at random and refuses one event. The refused event and the later ones of its
// order are parked; all others arrive at least once, in the order of their aggregates. When the
// receiver accepts the event, a retry delivers the rest.
func TestSubscription(t *testing.T) {
	if t.Parallel(); testing.Short() {
		t.Skip("-short leaves out what waits for a retry of parked events, two seconds: run the test without -short")
	}
	store, seed := startStore(t), rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	want, late := map[string][]string{}, 0 // event IDs by order; how many are refused or behind the refused one
	refused := ""
	for range 40 {
		name := fmt.Sprint(random.IntN(6))
		_, err := store.Append(t.Context(), eventstore.ID{Type: "order", ID: name}, eventstore.Any(), []eventstore.NewEvent{{Type: "Changed", Payload: []byte(`{}`)}, {Type: "Changed"}})
		if err != nil {
			t.Fatal(err)
		}
		want[name] = nil
	}
	for name := range want {
		for e, err := range store.Read(t.Context(), eventstore.ID{Type: "order", ID: name}) {
			if err != nil {
				t.Fatal(err)
			}
			want[name] = append(want[name], e.EventID)
		}
		if refused == "" {
			refused, late = want[name][1], len(want[name])-1
		}
	}
	var fixed atomic.Bool
	r := newReceiver(t, func(w http.ResponseWriter, _ *http.Request, ids []string) {
		if fixed.Load() {
			return
		}
		switch fate := random.IntN(8); {
		case fate == 0:
			w.WriteHeader(http.StatusServiceUnavailable)
		case fate == 1:
			w.WriteHeader(http.StatusForbidden)
		case slices.Contains(ids, refused):
			w.WriteHeader(http.StatusUnprocessableEntity)
		}
	})
	s, err := subscription.New(store, subscription.Definition{Name: "orders", Partitions: 3, Handle: r.handler(batches(4))}, subscription.Options{
		Attempts: -1, Delay: func(int) time.Duration { return time.Millisecond }, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- s.Run(ctx) }()
	await(t, store, func(s *subscription.Status) bool { return s.Lag() == 0 && s.Parked() == late })
	fixed.Store(true)
	if n, err := subscription.Retry(t.Context(), store, "orders"); n != 1 || err != nil {
		t.Errorf("retry of %d aggregates: %v", n, err)
	}
	await(t, store, func(s *subscription.Status) bool { return s.Parked() == 0 })
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	for name, ids := range want {
		var got []string
		for _, id := range r.accepted {
			if slices.Contains(ids, id) && !slices.Contains(got, id) {
				got = append(got, id)
			}
		}
		if !slices.Equal(got, ids) {
			t.Errorf("order %s: got\n%s\nnot\n%s", name, strings.Join(got, " "), strings.Join(ids, " "))
		}
	}
}
