package subscription_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/subscription"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/fold/lease"
	"github.com/onefold/onefold/fold/streamsource"
	"github.com/onefold/onefold/internal/seeds"
	"github.com/onefold/onefold/table"
)

// world is an in-memory event store with a worker that writes its feed. Time is that of a synctest
// bubble.
type world struct {
	testing.TB
	db    *engine.DB
	table *table.Table
	store *eventstore.Store
}

// inWorld runs a test in a world. Its time is free, but not its reads: most tests let minutes pass
// while nothing happens, in which a worker with the default pause would read twenty times a second.
func inWorld(t *testing.T, test func(*world)) {
	synctest.Test(t, func(t *testing.T) {
		w, end := newWorld(t, fold.Options{Poll: 500 * time.Millisecond})
		test(w)
		end()
	})
}

func newWorld(t testing.TB, o fold.Options) (w *world, end func()) {
	db, err := engine.OpenMemory(engine.Options{TTLInterval: -1})
	if err != nil {
		t.Fatal(err)
	}
	w = &world{TB: t, db: db, table: table.New(db, "onefold", table.Options{})}
	w.must(table.MustSchema("test", eventstore.Schema, subscription.Schema).Ensure(t.Context(), db, "onefold"))
	w.store, err = eventstore.New(w.table, eventstore.Options{})
	w.must(err)
	source, err := streamsource.OfTable(t.Context(), db, db, "onefold")
	w.must(err)
	o.Logger = slog.New(slog.DiscardHandler)
	worker, err := fold.NewWorker(w.table, source, eventstore.Folds(), o)
	w.must(err)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- worker.Run(ctx) }()
	return w, func() {
		stop()
		if err := errors.Join(<-ended, db.Close()); err != nil {
			t.Error(err)
		}
	}
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func order(n int) eventstore.ID { return eventstore.ID{Type: "order", ID: fmt.Sprint(n)} }

func (w *world) append(id eventstore.ID, types ...string) {
	w.Helper()
	var events []eventstore.NewEvent
	for _, t := range types {
		events = append(events, eventstore.NewEvent{Type: t, Payload: []byte(`{}`)})
	}
	_, err := w.store.Append(w.Context(), id, eventstore.Any(), events)
	w.must(err)
}

// run starts a subscription, and returns what ends it and returns its error.
func (w *world) run(d subscription.Definition, o subscription.Options) (stop func() error) {
	w.Helper()
	d.Name, o.Logger, o.Lease.Logger = "test", slog.New(slog.DiscardHandler), slog.New(slog.DiscardHandler)
	s, err := subscription.New(w.store, d, o)
	w.must(err)
	return running(w.Context(), s)
}

func running(ctx context.Context, s *subscription.Subscription) (stop func() error) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	return func() error {
		cancel()
		return <-ended
	}
}

// status returns the subscription after some time.
func (w *world) status() subscription.Status {
	w.Helper()
	time.Sleep(time.Minute)
	synctest.Wait()
	st, err := subscription.Get(w.Context(), w.store, "test")
	w.must(err)
	return st
}

func (w *world) isAt(what string, handled, lag int64, parked int) {
	w.Helper()
	if st := w.status(); st.Handled() != handled || st.Lag() != lag || st.Parked() != parked {
		w.Errorf("%s: %d handled, lag %d, %d parked; want %d, %d and %d", what, st.Handled(), st.Lag(), st.Parked(), handled, lag, parked)
	}
}

// journal is what a handler has handled. mu protects its fields.
type journal struct {
	mu      sync.Mutex
	handled []string
	broken  map[string]error // by event type
}

func (j *journal) handle(_ context.Context, e *eventstore.FeedEvent) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.broken[e.EventType]; err != nil {
		return err
	}
	j.handled = append(j.handled, fmt.Sprintf("%s.%d %s", e.EventKey.ID.ID, e.Seq, e.EventType))
	return nil
}

func (j *journal) set(broken map[string]error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.broken = broken
}

func (j *journal) has(t testing.TB, what string, want ...string) {
	t.Helper()
	j.mu.Lock()
	defer j.mu.Unlock()
	if !slices.Equal(j.handled, want) {
		t.Errorf("%s: handled %q, want %q", what, j.handled, want)
	}
}

var errBroken = errors.New("broken")

// A failing event is retried, and then parked with the later ones of its aggregate only. It is tried
// again when somebody asks for it, in order.
func TestParking(t *testing.T) {
	inWorld(t, func(w *world) {
		j := &journal{broken: map[string]error{"B": errBroken}}
		stop := w.run(subscription.Definition{Handle: subscription.Each(j.handle)}, subscription.Options{Attempts: 3})
		w.append(order(1), "A", "B", "C")
		w.append(order(2), "A", "D")
		w.append(order(1), "D")
		w.isAt("broken", 3, 0, 3)
		j.has(t, "broken", "1.1 A", "2.1 A", "2.2 D")
		parked, err := subscription.ParkedOf.Collect(w.Context(), w.table, subscription.Key{Name: "test"})
		w.must(err)
		if len(parked) != 3 || parked[0].Reason != "broken" || parked[0].Attempts != 3 || parked[0].EventType != "B" || parked[1].Reason != "" || parked[2].Position != 3 {
			t.Errorf("parked: %+v", parked)
		}
		w.must(stop())
		stop = w.run(subscription.Definition{Handle: subscription.Each(j.handle)}, subscription.Options{Attempts: 3})
		w.append(order(1), "E") // it still waits, although the consumer is another one
		w.isAt("restarted", 3, 0, 4)
		ask := func(what string, want int, only ...eventstore.ID) {
			t.Helper()
			if n, err := subscription.Retry(w.Context(), w.store, "test", only...); n != want || err != nil {
				t.Errorf("%s: %d aggregates, %v", what, n, err)
			}
		}
		ask("another aggregate", 0, order(2))
		ask("still broken", 1, order(1))
		w.isAt("still broken", 3, 0, 4)
		j.set(map[string]error{"D": errBroken})
		ask("the next one is broken", 1)
		w.isAt("the next one is broken", 5, 0, 2)
		j.set(nil)
		ask("repaired", 1)
		w.isAt("repaired", 7, 0, 0)
		w.append(order(1), "F")
		w.isAt("afterwards", 8, 0, 0)
		j.has(t, "afterwards", "1.1 A", "2.1 A", "2.2 D", "1.2 B", "1.3 C", "1.4 D", "1.5 E", "1.6 F")
		w.must(stop())
	})
}

// What handlers do wrong costs their event, not the subscription.
func TestFaultyHandlers(t *testing.T) {
	for name, c := range map[string]struct {
		handle   subscription.Handler
		attempts int
		reason   string
	}{
		"a permanent error": {subscription.Each(func(context.Context, *eventstore.FeedEvent) error { return subscription.Permanent(errBroken) }), 1, "broken"},
		"a panic":           {subscription.Each(func(context.Context, *eventstore.FeedEvent) error { panic("out of order") }), 2, "the handler panicked: out of order"},
		"too many": {func(_ context.Context, events []eventstore.FeedEvent) (int, error) { return len(events) + 1, nil }, 1,
			"the handler says that it has handled 2 of 1 events"},
		"less than none": {func(context.Context, []eventstore.FeedEvent) (int, error) { return -1, nil }, 1, "the handler says that it has handled -1 of 1 events"},
		"no error":       {func(context.Context, []eventstore.FeedEvent) (int, error) { return 0, nil }, 2, "the handler has handled 0 of 1 events without an error"},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				stop := w.run(subscription.Definition{Handle: c.handle}, subscription.Options{Attempts: 2})
				w.append(order(1), "A")
				w.isAt(name, 0, 0, 1)
				parked, err := subscription.ParkedOf.First(w.Context(), w.table, subscription.Key{Name: "test"})
				if err != nil || parked.Reason != c.reason || parked.Attempts != c.attempts {
					t.Errorf("%+v, %v", parked, err)
				}
				w.must(stop())
			})
		})
	}
}

// A partition with too many parked events waits, says so, and goes on when there is room.
func TestFull(t *testing.T) {
	inWorld(t, func(w *world) {
		j := &journal{broken: map[string]error{"B": errBroken}}
		stop := w.run(subscription.Definition{Handle: subscription.Each(j.handle)}, subscription.Options{Attempts: 2, MostParked: 2})
		w.append(order(1), "B", "A", "C")
		w.append(order(2), "B")
		w.append(order(3), "A")
		st := w.status()
		if p := st.Partitions[0]; st.Lag() != 3 || st.Parked() != 2 || p.Error != subscription.ErrFull.Error() || p.Failures == 0 {
			t.Errorf("full: %+v", st)
		}
		n, err := subscription.Discard(w.Context(), w.store, "test", order(1), order(9))
		if n != 2 || err != nil {
			t.Errorf("%d discarded, %v", n, err)
		}
		w.isAt("discarded", 2, 0, 1) // 1.3 and 3.1
		j.has(t, "discarded", "1.3 C", "3.1 A")
		w.must(stop())
	})
}

// The wait between attempts ends with the process, and the position stays before the failing event.
func TestStopWhileFailing(t *testing.T) {
	inWorld(t, func(w *world) {
		j := &journal{broken: map[string]error{"B": errBroken}}
		d := subscription.Definition{Handle: subscription.Each(j.handle)}
		stop := w.run(d, subscription.Options{Attempts: -1, Delay: func(int) time.Duration { return time.Hour }})
		w.append(order(1), "A", "B")
		w.append(order(2), "C")
		time.Sleep(10 * time.Second)
		w.must(stop())
		w.isAt("stopped", 1, 2, 0)
		j.set(nil)
		stop = w.run(d, subscription.Options{})
		w.isAt("afterwards", 4, 0, 0)
		j.has(t, "afterwards", "1.1 A", "1.1 A", "1.2 B", "2.1 C") // an append is the unit of progress
		w.must(stop())
	})
}

// Subscriptions begin where they say, are reset, deleted, and made again.
func TestLifeOfASubscription(t *testing.T) {
	inWorld(t, func(w *world) {
		j := &journal{}
		d := subscription.Definition{Handle: subscription.Each(j.handle), FromNow: true, Only: []eventstore.FeedOption{eventstore.OfType("A", "C")}}
		w.append(order(1), "A")
		time.Sleep(time.Minute)
		stop := w.run(d, subscription.Options{})
		w.append(order(1), "B", "C")
		w.isAt("from now", 1, 0, 0)
		w.must(subscription.Reset(w.Context(), w.store, "test", 0))
		w.isAt("again", 3, 0, 0)
		j.has(t, "again", "1.3 C", "1.1 A", "1.3 C")
		for _, position := range []int64{-1, 3} {
			if err := subscription.Reset(w.Context(), w.store, "test", position); !errors.Is(err, subscription.ErrDefinition) {
				t.Errorf("reset to %d: %v", position, err)
			}
		}
		w.must(stop())
		d.Partitions = 2
		if err := w.run(d, subscription.Options{})(); err != nil { // it was stopped at once
			t.Error(err)
		}
		stop = w.run(d, subscription.Options{})
		time.Sleep(time.Minute)
		if err := stop(); !errors.Is(err, subscription.ErrDefinition) {
			t.Errorf("another number of partitions: %v", err)
		}
		d.Partitions = 1
		stop = w.run(d, subscription.Options{})
		time.Sleep(time.Minute)
		w.must(subscription.Delete(w.Context(), w.store, "test"))
		time.Sleep(time.Minute)
		if err := stop(); !errors.Is(err, subscription.ErrNotFound) {
			t.Errorf("deleted while it runs: %v", err)
		}
		for what, err := range map[string]error{
			"delete": subscription.Delete(w.Context(), w.store, "test"), "reset": subscription.Reset(w.Context(), w.store, "test", 0),
			"a # in the name": func() error { _, err := subscription.Get(w.Context(), w.store, "a#b"); return err }(),
			"retry":           func() error { _, err := subscription.Retry(w.Context(), w.store, "test"); return err }(),
			"discard":         func() error { _, err := subscription.Discard(w.Context(), w.store, "test"); return err }(),
		} {
			if !errors.Is(err, subscription.ErrNotFound) {
				t.Errorf("%s: %v", what, err)
			}
		}
		d.Partitions, d.FromNow = 2, false
		stop = w.run(d, subscription.Options{})
		w.isAt("made again", 2, 0, 0)
		w.must(stop())
		all, err := subscription.List(w.Context(), w.store)
		if err != nil || len(all) != 1 || all[0].Name != "test" || len(all[0].Partitions) != 2 {
			t.Errorf("%+v, %v", all, err)
		}
	})
}

func TestDefinitions(t *testing.T) {
	inWorld(t, func(w *world) {
		handle := subscription.Each(new(journal).handle)
		put, err := eventstore.New(w.table, eventstore.Options{PutMode: true})
		w.must(err)
		for what, c := range map[string]struct {
			d subscription.Definition
			s *eventstore.Store
		}{
			"no name": {subscription.Definition{Handle: handle}, w.store}, "a slash": {subscription.Definition{Name: "a/b", Handle: handle}, w.store},
			"a #": {subscription.Definition{Name: "a#b", Handle: handle}, w.store}, "no handler": {subscription.Definition{Name: "a"}, w.store},
			"65 partitions": {subscription.Definition{Name: "a", Partitions: 65, Handle: handle}, w.store}, "put mode": {subscription.Definition{Name: "a", Handle: handle}, put},
			"-1 partitions": {subscription.Definition{Name: "a", Partitions: -1, Handle: handle}, w.store},
		} {
			if _, err := subscription.New(c.s, c.d, subscription.Options{}); !errors.Is(err, subscription.ErrDefinition) {
				t.Errorf("%s: %v", what, err)
			}
		}
	})
}

// mortal is an API that ends working at some request: the process has crashed.
type mortal struct {
	dynamo.API
	mu   sync.Mutex
	left int // requests; below 0: it works forever
}

var errDead = errors.New("the process has crashed")

func (m *mortal) dies() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.left == 0 {
		return errDead
	}
	m.left--
	return nil
}

func (m *mortal) PutItem(ctx context.Context, in *dynamodb.PutItemInput, o ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	if err := m.dies(); err != nil {
		return nil, err
	}
	return m.API.PutItem(ctx, in, o...)
}

func (m *mortal) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	if err := m.dies(); err != nil {
		return nil, err
	}
	return m.API.UpdateItem(ctx, in, o...)
}

func (m *mortal) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, o ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	if err := m.dies(); err != nil {
		return nil, err
	}
	return m.API.TransactWriteItems(ctx, in, o...)
}

// model checks each event that is handled. mu protects it.
type model struct {
	testing.TB
	mu     sync.Mutex
	r      *rand.Rand
	poison bool                    // events of type P fail
	last   map[eventstore.ID]int64 // the last number of each aggregate that was handled for the first time
	times  int
}

// handle handles events until one fails, at random or because it is poison.
func (m *model) handle(ctx context.Context, events []eventstore.FeedEvent) (int, error) {
	time.Sleep(time.Duration(m.random(20)) * time.Millisecond)
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, e := range events {
		if m.poison && e.EventType == "P" || m.r.IntN(20) == 0 {
			return i, errBroken
		}
		last := m.last[e.EventKey.ID]
		if e.Seq > last+1 {
			m.Errorf("event %d of %s comes after %d", e.Seq, e.EventKey.ID, last)
		}
		m.last[e.EventKey.ID] = max(last, e.Seq)
		m.times++
	}
	return len(events), nil
}

func (m *model) random(n int) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.r.IntN(n)
}

// Consumers come, crash between any two writes, pause and compete while events are appended. Every
// event is handled, in the order of its aggregate, or parked.
func TestCrashes(t *testing.T) {
	seeds.Run(t, 20, func(t *testing.T, seed uint64) {
		inWorld(t, func(w *world) {
			m := &model{TB: w.TB, r: rand.New(rand.NewPCG(seed, 1)), poison: true, last: map[eventstore.ID]int64{}}
			d := subscription.Definition{Name: "test", Partitions: 3, Handle: m.handle}
			o := subscription.Options{
				AtOnce: 1 + m.random(20), Attempts: 4, Poll: time.Duration(25+m.random(400)) * time.Millisecond, Delay: func(int) time.Duration { return 50 * time.Millisecond },
				Logger: slog.New(slog.DiscardHandler), Lease: lease.Options{For: 3 * time.Second, Logger: slog.New(slog.DiscardHandler)},
			}
			versions := map[eventstore.ID]int64{}
			for range 12 {
				store, err := eventstore.New(table.New(&mortal{API: w.db, left: m.random(60)}, "onefold", table.Options{}), eventstore.Options{})
				w.must(err)
				s, err := subscription.New(store, d, o)
				w.must(err)
				stop := running(w.Context(), s)
				for range m.random(8) {
					id := order(m.random(6))
					w.append(id, []string{"A", "B", "A", "B", "A", "P"}[m.random(6)], "C")
					versions[id] += 2
					time.Sleep(time.Duration(m.random(1000)) * time.Millisecond)
				}
				if m.random(3) > 0 { // or it goes on beside the next one
					_ = stop() // the error of a crash
				} else {
					defer stop() //nolint:errcheck // likewise
				}
			}
			s, err := subscription.New(w.store, d, o)
			w.must(err)
			stop := running(w.Context(), s)
			st := w.status()
			parked := map[eventstore.ID]int64{}
			for p, err := range subscription.ParkedOf.All(w.Context(), w.table, subscription.Key{Name: "test"}) {
				w.must(err)
				if parked[p.EventKey.ID] == 0 {
					parked[p.EventKey.ID] = p.Seq
				}
			}
			m.mu.Lock()
			for id, version := range versions {
				if first := parked[id]; m.last[id] != version && first != m.last[id]+1 {
					t.Errorf("%s: %d of %d events are handled, and parked from %d on", id, m.last[id], version, first)
				}
			}
			m.poison = false
			m.mu.Unlock()
			if st.Lag() != 0 || len(parked) == 0 != (st.Parked() == 0) {
				t.Errorf("%+v, %d aggregates are parked", st, len(parked))
			}
			for range 20 { // an attempt may fail at random
				_, err = subscription.Retry(w.Context(), w.store, "test")
				w.must(err)
				if st = w.status(); st.Parked() == 0 {
					break
				}
			}
			for id, version := range versions {
				if m.last[id] != version {
					t.Errorf("%s: %d of %d events are handled after a retry", id, m.last[id], version)
				}
			}
			if st.Parked() != 0 {
				t.Errorf("%d events stay parked", st.Parked())
			}
			w.must(stop())
		})
	})
}
