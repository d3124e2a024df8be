package eventstore_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/fsck"
	"github.com/onefold/onefold/internal/seeds"
)

// States of the past are those of a replay, with few events read, whenever snapshots were made.
func TestPast(t *testing.T) { seeds.Run(t, 3, past) }

func past(t *testing.T, seed uint64) {
	both(t, func(w *world) {
		r := rand.New(rand.NewPCG(seed, 0))
		every := int64(2 + r.IntN(6))
		worker := w.worker(eventstore.SnapshotFold(w.store, "snapshots", eventstore.Snapshotting[map[string]int]{Type: "order", Fold: tally, Every: 5, Past: every}))
		var states []map[string]int // by version
		var times []time.Time
		state := map[string]int{}
		states, times = append(states, maps.Clone(state)), append(times, w.db.Now().Add(-time.Second))
		for len(states) < 40 {
			for range 1 + r.IntN(7) {
				name := fmt.Sprint("E", r.IntN(3))
				w.append(order("a"), eventstore.Any(), name)
				state[name]++
				states, times = append(states, maps.Clone(state)), append(times, w.db.Now())
				if r.IntN(2) == 0 {
					w.db.Advance(time.Second)
				}
			}
			w.drain(worker)
		}
		last := int64(len(states) - 1)
		for version := int64(1); version <= last; version++ {
			at, err := eventstore.LoadAt(w.ctx, w.store, order("a"), tally, version)
			w.must(err)
			if at.Version != version || !maps.Equal(at.State, states[version]) || int64(at.Read) >= every {
				w.Errorf("seed %d: at %d: %+v, want %v", seed, version, at, states[version])
			}
		}
		for range 20 {
			asOf := times[r.IntN(len(times))].Add(time.Duration(r.IntN(3)-1) * 300 * time.Millisecond)
			want := last
			for want > 0 && times[want].After(asOf) {
				want--
			}
			at, err := eventstore.LoadAsOf(w.ctx, w.store, order("a"), tally, asOf)
			w.must(err)
			if at.Version != want || !maps.Equal(at.State, states[want]) || int64(at.Read) >= every {
				w.Errorf("seed %d: as of %s: %+v, want version %d", seed, asOf, at, want)
			}
		}
		for f, err := range fsck.Check(w.ctx, w.store, fsck.Options{Folds: map[string]fsck.Replay{"order": fsck.ReplayOf(tally)}}) {
			if w.must(err); f.Kind != fsck.NotIndexed && f.Kind != fsck.FeedBehind {
				w.Errorf("seed %d: %+v", seed, f)
			}
		}
	})
}

// Snapshots of an older fold are not used, and KeepPast replaces them. A wrong one is found.
func TestPastOfAnotherReducer(t *testing.T) {
	w := newWorld(t, eventstore.Options{})
	for range 10 {
		w.append(order("a"), eventstore.Any(), "A")
	}
	id, newer := order("a"), tally
	newer.Version = 2
	for i, f := range []eventstore.Fold[map[string]int]{tally, tally, newer, tally} {
		kept, err := eventstore.KeepPast(w.ctx, w.store, id, f, 3, 0)
		w.must(err)
		at, err := eventstore.LoadAt(w.ctx, w.store, id, f, 8)
		w.must(err)
		old, err := eventstore.LoadAt(w.ctx, w.store, id, eventstore.Fold[map[string]int]{Version: 3, Apply: tally.Apply}, 8)
		w.must(err)
		if want := []int{3, 0, 3, 0}[i]; kept != want {
			t.Errorf("kept %d, want %d", kept, want)
		}
		if want := []int{2, 2, 2, 8}[i]; at.Read != want || at.State["A"] != 8 || old.State["A"] != 8 || old.Read != 8 {
			t.Errorf("loaded %+v, and %+v without a snapshot", at, old)
		}
	}
	overwrite(w, eventstore.PastSnapshots, eventstore.PastSnapshotKey{ID: id, LastSeq: 6}, func(s *eventstore.PastSnapshot) { s.State = []byte(`{"A":7}`) })
	options := fsck.Options{Folds: map[string]fsck.Replay{"order": fsck.ReplayOf(newer)}}
	var found []fsck.Kind
	for f, err := range fsck.Check(w.ctx, w.store, options) {
		if w.must(err); f.Kind == fsck.SnapWrong {
			found = append(found, f.Kind)
			w.must(f.Repair(w.ctx))
		}
	}
	at, err := eventstore.LoadAt(w.ctx, w.store, id, newer, 7)
	w.must(err)
	if len(found) != 1 || at.State["A"] != 7 || at.Read != 4 {
		t.Errorf("found %v, loaded %+v", found, at)
	}
}
