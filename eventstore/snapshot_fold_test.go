package eventstore_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/table"
)

func (w *world) snapshotAt(id eventstore.ID) int64 {
	w.Helper()
	snap, err := eventstore.SnapshotByID.Get(w.ctx, w.table, eventstore.SnapshotKey{ID: id})
	if errors.Is(err, table.ErrNotFound) {
		return 0
	}
	w.must(err)
	return snap.LastSeq
}

func TestSnapshotsAreMadeBesideTheAppends(t *testing.T) {
	both(t, func(w *world) {
		worker := w.worker(eventstore.SnapshotFold(w.store, "snapshots", eventstore.Snapshotting[map[string]int]{Type: "order", Fold: tally, Every: 3}))
		for i, want := range []int64{0, 0, 3, 3, 3, 6, 6} {
			w.append(order("a"), eventstore.Any(), "A")
			w.append(eventstore.ID{Type: "cart", ID: "c"}, eventstore.Any(), "A")
			w.drain(worker)
			if have := w.snapshotAt(order("a")); have != want {
				w.Errorf("after %d events the snapshot is of %d, want %d", i+1, have, want)
			}
		}
		if w.snapshotAt(eventstore.ID{Type: "cart", ID: "c"}) != 0 {
			w.Error("a snapshot of another type was made")
		}
		at, err := eventstore.Load(w.ctx, w.store, order("a"), tally)
		w.must(err)
		if at.Version != 7 || at.Read != 1 || at.State["A"] != 7 {
			w.Errorf("loaded %+v, want 7 of which one was read", at)
		}
		c, err := eventstore.VerifySnapshot(w.ctx, w.store, order("a"), tally)
		w.must(err)
		if !c.Found || !c.Same || c.LastSeq != 6 {
			w.Errorf("the snapshot is %+v", c)
		}
	})
}

// TestSnapshotsOfAnotherReducer replaces snapshots of an older fold, and keeps those of a newer
// one.
func TestSnapshotsOfAnotherReducer(t *testing.T) {
	w := newWorld(t, eventstore.Options{})
	double := eventstore.Fold[map[string]int]{Version: 2, Apply: func(m map[string]int, e eventstore.Event) (map[string]int, error) {
		next, err := tally.Apply(m, e)
		next["all"] += 2
		return next, err
	}}
	older := eventstore.SnapshotFold(w.store, "older", eventstore.Snapshotting[map[string]int]{Type: "order", Fold: tally, Every: 2})
	newer := eventstore.SnapshotFold(w.store, "newer", eventstore.Snapshotting[map[string]int]{Type: "order", Fold: double, Every: 2})
	w.append(order("a"), eventstore.NoStream(), "A", "A")
	w.drain(w.worker(older))
	if at, err := eventstore.Load(w.ctx, w.store, order("a"), double); err != nil || at.Read != 2 || at.State["all"] != 4 {
		t.Errorf("loaded %+v (%v), want it replayed", at, err)
	}
	if c, err := eventstore.VerifySnapshot(w.ctx, w.store, order("a"), double); err != nil || c.Found {
		t.Errorf("the snapshot of another reducer is %+v (%v)", c, err)
	}
	w.append(order("a"), eventstore.Exact(2), "A", "A")
	w.drain(w.worker(older, newer))
	if at, err := eventstore.Load(w.ctx, w.store, order("a"), double); err != nil || at.Read != 0 || at.State["all"] != 8 {
		t.Errorf("loaded %+v (%v), want the snapshot", at, err)
	}
	w.append(order("a"), eventstore.Exact(4), "A", "A")
	w.drain(w.worker(older))
	if at, err := eventstore.Load(w.ctx, w.store, order("a"), double); err != nil || at.Read != 2 {
		t.Errorf("loaded %+v (%v): the older fold has replaced the newer one's snapshot", at, err)
	}
}

// TestFailedSnapshotsBlockNothing has an event that cannot be applied, one that panics, and
// a snapshot that was changed.
func TestFailedSnapshotsBlockNothing(t *testing.T) {
	w := newWorld(t, eventstore.Options{})
	picky := eventstore.Fold[map[string]int]{Version: 1, Apply: func(m map[string]int, e eventstore.Event) (map[string]int, error) {
		switch e.EventType {
		case "Bad":
			return m, errors.New("bad")
		case "Panic":
			panic("bad")
		}
		return tally.Apply(m, e)
	}}
	var mu sync.Mutex
	failed := map[string]bool{}
	f := eventstore.SnapshotFold(w.store, "snapshots", eventstore.Snapshotting[map[string]int]{Type: "order", Fold: picky, Every: 2, Failed: func(id eventstore.ID, _ error) {
		mu.Lock()
		defer mu.Unlock()
		failed[id.ID] = true
	}})
	w.append(order("a"), eventstore.NoStream(), "A", "Bad")
	w.append(order("b"), eventstore.NoStream(), "A", "Panic")
	w.append(order("c"), eventstore.NoStream(), "A", "A")
	w.drain(w.worker(f))
	if len(failed) != 2 || !failed["a"] || !failed["b"] || w.snapshotAt(order("c")) != 2 {
		t.Errorf("failed are %v, want a and b; the snapshot of c is of %d", failed, w.snapshotAt(order("c")))
	}
	snap, err := eventstore.SnapshotByID.Get(w.ctx, w.table, eventstore.SnapshotKey{ID: order("c")})
	w.must(err)
	snap.State = []byte(`{"A":3}`)
	w.must(eventstore.Snapshots.Put(w.ctx, w.table, &snap))
	if c, err := eventstore.VerifySnapshot(w.ctx, w.store, order("c"), picky); err != nil || !c.Found || c.Same || string(c.Want) != `{"A":2}` {
		t.Errorf("a changed snapshot is %+v (%v)", c, err)
	}
}

// TestSnapshotWritersRace lets four workers make snapshots of the same aggregates during appends.
// No snapshot is ever replaced by an older one, and each matches the events.
func TestSnapshotWritersRace(t *testing.T) {
	w := newWorld(t, eventstore.Options{})
	var running sync.WaitGroup
	for range 4 {
		worker := w.worker(eventstore.SnapshotFold(w.store, "snapshots", eventstore.Snapshotting[map[string]int]{Type: "order", Fold: tally, Every: 2}))
		running.Go(func() {
			for range 10 {
				if err := worker.Drain(w.ctx); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	r := rand.New(rand.NewPCG(1, 1))
	last := map[eventstore.ID]int64{}
	for range 200 {
		id := order(fmt.Sprint(r.IntN(4)))
		w.append(id, eventstore.Any(), "A", "B")
		at := w.snapshotAt(id)
		if at < last[id] {
			t.Errorf("the snapshot of %s went from %d to %d", id, last[id], at)
		}
		last[id] = at
	}
	running.Wait()
	w.drain(w.worker(eventstore.SnapshotFold(w.store, "snapshots", eventstore.Snapshotting[map[string]int]{Type: "order", Fold: tally, Every: 2})))
	for id := range last {
		c, err := eventstore.VerifySnapshot(w.ctx, w.store, id, tally)
		w.must(err)
		if h, err := w.store.Head(w.ctx, id); err != nil || !c.Found || !c.Same || c.LastSeq != h.Version {
			t.Errorf("the snapshot of %s is %+v, want it of %d (%v)", id, c, h.Version, err)
		}
	}
}
