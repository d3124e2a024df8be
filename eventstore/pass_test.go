package eventstore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/eventstoretest"
	"github.com/onefold/onefold/internal/seeds"
)

// shelf is an in-memory archive.
type shelf []eventstore.Event

func (s shelf) read(_ context.Context, _ eventstore.ID, from, to int64) iter.Seq2[eventstore.Event, error] {
	return func(yield func(eventstore.Event, error) bool) {
		for _, e := range s {
			if e.Seq >= from && e.Seq <= to && !yield(e, nil) {
				return
			}
		}
	}
}

// A read returns the same events in every way of reading, before and after a truncation, and while
// events are being deleted.
func TestReadThroughTruncation(t *testing.T) { seeds.Run(t, 1, readThroughTruncation) }

func readThroughTruncation(t *testing.T, seed uint64) {
	const version = 7
	r := rand.New(rand.NewPCG(seed, 0))
	for kept := int64(2); kept <= version; kept++ {
		var past shelf
		w := newWorld(t, eventstore.Options{Chain: true, PageBytes: 1 + r.IntN(600), Archive: func(ctx context.Context, id eventstore.ID, from, to int64) iter.Seq2[eventstore.Event, error] {
			return past.read(ctx, id, from, to)
		}})
		id := order("1")
		var times []time.Time
		for range version {
			w.append(id, eventstore.Any(), "E")
			times = append(times, w.db.Now())
			w.db.Advance(time.Second)
		}
		var passes [][]eventstore.ReadOption
		for from := int64(1); from <= version+1; from++ {
			passes = append(passes, []eventstore.ReadOption{eventstore.From(from)}, []eventstore.ReadOption{eventstore.From(from), eventstore.Verified()},
				[]eventstore.ReadOption{eventstore.From(from), eventstore.Backwards()}, []eventstore.ReadOption{eventstore.From(from), eventstore.AsOf(times[r.IntN(version)])})
			for to := from - 1; to <= version+2; to++ {
				passes = append(passes, []eventstore.ReadOption{eventstore.From(from), eventstore.To(to)},
					[]eventstore.ReadOption{eventstore.From(from), eventstore.To(to), eventstore.Backwards()},
					[]eventstore.ReadOption{eventstore.From(from), eventstore.To(to), eventstore.Verified()})
			}
		}
		want := make([]string, len(passes))
		for i, p := range passes {
			want[i] = w.story(id, p...)
		}
		past = slices.Collect(func(yield func(eventstore.Event) bool) {
			for e, err := range w.store.Read(w.ctx, id, eventstore.To(kept-1)) {
				w.must(err)
				yield(e)
			}
		})
		overwrite(w, eventstore.Heads, id, func(h *eventstore.Head) { h.FirstKept, h.KeptAfter = kept, past[kept-2].Hash })
		for _, n := range append(r.Perm(int(kept-1)), -1) {
			for i, p := range passes {
				w.isStory(id, want[i], p...)
			}
			if n >= 0 {
				eventstoretest.Remove(w, w.table, id, int64(n)+1)
			}
		}
		if t.Failed() {
			t.Fatalf("kept from %d on", kept)
		}
	}
}

func TestTruncatedWithoutArchive(t *testing.T) {
	w := newWorld(t, eventstore.Options{Chain: true})
	id := order("1")
	for i := range 6 {
		_, err := w.store.Append(w.ctx, id, eventstore.Any(), said("E"), eventstore.CommitID(fmt.Sprint(i)))
		w.must(err)
	}
	overwrite(w, eventstore.Heads, id, func(h *eventstore.Head) { h.FirstKept = 4 })
	for n := range int64(3) {
		eventstoretest.Remove(w, w.table, id, n+1)
	}
	for _, o := range [][]eventstore.ReadOption{nil, {eventstore.From(3)}, {eventstore.Backwards()}, {eventstore.To(2)}, {eventstore.To(2), eventstore.Backwards()}} {
		var last error
		for _, err := range w.store.Read(w.ctx, id, o...) {
			last = err
		}
		if !errors.Is(last, eventstore.ErrTruncated) {
			t.Errorf("%d options: %v", len(o), last)
		}
	}
	w.isStory(id, "4 E 5 E 6 E", eventstore.From(4))
	w.isStory(id, "6 E 5 E", eventstore.From(5), eventstore.Backwards())
	// Appends conflict as usual, and are found by their IDs.
	conflict := (*eventstore.Conflict)(nil)
	for _, expected := range []eventstore.Expected{eventstore.NoStream(), eventstore.Exact(2), eventstore.Exact(5)} {
		_, err := w.store.Append(w.ctx, id, expected, said("X"))
		if !errors.As(err, &conflict) || conflict.Actual != 6 {
			t.Errorf("%s: %v", expected, err)
		}
	}
	if c, err := w.store.Append(w.ctx, id, eventstore.NoStream(), said("E"), eventstore.CommitID("0")); err != nil || c.Version != 1 || !c.Again {
		t.Errorf("%+v, %v", c, err)
	}
	w.append(id, eventstore.Exact(6), "F")
	eventstoretest.Remove(w, w.table, id, 5)
	var last error
	for _, err := range w.store.Read(w.ctx, id, eventstore.From(4)) {
		last = err
	}
	if !errors.Is(last, eventstore.ErrHole) {
		t.Errorf("a hole after the truncation: %v", last)
	}
}

// What the secrets seal is sealed only in the table.
func TestSecrets(t *testing.T) {
	flip := func(p eventstore.Payload) eventstore.Payload {
		q := bytes.Clone(p)
		slices.Reverse(q)
		return q
	}
	open := true
	o := eventstore.Options{Chain: true, Secrets: &eventstore.Secrets{
		Seal: func(_ context.Context, events []eventstore.Event) error {
			for i := range events {
				if events[i].EventID == "" {
					return errors.New("an event has no id")
				}
				events[i].Payload = flip(events[i].Payload)
			}
			return nil
		},
		Open: func(_ context.Context, e *eventstore.Event) error { e.Payload = flip(e.Payload); return nil },
		SealState: func(_ context.Context, _ eventstore.ID, since time.Time, state eventstore.Payload) (eventstore.Payload, bool, error) {
			return flip(state), !since.IsZero(), nil
		},
		OpenState: func(_ context.Context, _ eventstore.ID, state eventstore.Payload) (eventstore.Payload, bool, error) {
			return flip(state), open, nil
		},
	}}
	w := newWorld(t, o)
	events := said("Paid")
	_, err := w.store.Append(w.ctx, order("1"), eventstore.NoStream(), events)
	w.must(err)
	if string(events[0].Payload) != `"Paid"` {
		t.Errorf("the caller's event has become %s", events[0].Payload)
	}
	payloads := func(options ...eventstore.ReadOption) string {
		var all strings.Builder
		for e, err := range w.store.Read(w.ctx, order("1"), append(options, eventstore.Verified())...) {
			w.must(err)
			all.Write(e.Payload)
		}
		return all.String()
	}
	if have := payloads() + payloads(eventstore.AsStored()); have != `"Paid""diaP"` {
		t.Error(have)
	}
	_, err = w.store.Append(w.ctx, order("1"), eventstore.NoStream(), events)
	if conflict := (*eventstore.Conflict)(nil); !errors.As(err, &conflict) || string(conflict.Since[0].Payload) != `"Paid"` {
		t.Error(err)
	}
	at, err := eventstore.Load(w.ctx, w.store, order("1"), tally)
	w.must(err)
	_, err = eventstore.SaveSnapshot(w.ctx, w.store, tally, at)
	w.must(err)
	snap, err := eventstore.Snapshots.Get(w.ctx, w.table, eventstore.SnapshotKey{ID: order("1")})
	if err != nil || string(snap.State) != `}1:"diaP"{` {
		t.Errorf("%s, %v", snap.State, err)
	}
	for _, open = range []bool{true, false} {
		again, err := eventstore.Load(w.ctx, w.store, order("1"), tally)
		if err != nil || again.State["Paid"] != 1 || (again.Read == 0) != open {
			t.Errorf("%+v, %v", again, err)
		}
	}
}
