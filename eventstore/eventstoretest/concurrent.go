package eventstoretest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/table"
)

// Many writers append several events to a few aggregates, sometimes repeatedly: there are no gaps
// and no duplicates, and every commit is where its result says.
func concurrentWriters(w *suite) {
	var mu sync.Mutex
	results := map[string]eventstore.Commit{}
	var writers sync.WaitGroup
	for n := range 8 {
		writers.Go(func() {
			r := rand.New(rand.NewPCG(w.seed, uint64(n)))
			for i := range 25 {
				events, id := 1+r.IntN(3), order(fmt.Sprint(r.IntN(3)))
				commit := fmt.Sprintf("%d-%d", n, i)
				for range 1 + r.IntN(2) {
					c, err := w.writer().Append(w.ctx, id, eventstore.Any(), said(slices.Repeat([]string{commit}, events)...), eventstore.CommitID(commit))
					if errors.Is(err, eventstore.ErrBusy) {
						continue
					}
					if err != nil {
						w.Errorf("%s: %v", commit, err)
						return
					}
					mu.Lock()
					if was, ok := results[id.ID+" "+commit]; ok && was != (eventstore.Commit{CommitID: c.CommitID, First: c.First, Version: c.Version, Again: was.Again}) {
						w.Errorf("%s: %+v, then %+v", commit, was, c)
					}
					results[id.ID+" "+commit] = c
					mu.Unlock()
				}
			}
		})
	}
	writers.Wait()
	found := 0
	for n := range 3 {
		for e, err := range w.writer().Read(w.ctx, order(fmt.Sprint(n))) {
			w.must(err)
			c := results[fmt.Sprint(n)+" "+e.EventType]
			if found++; e.Seq < c.First || e.Seq > c.Version || e.CommitID != e.EventType {
				w.Errorf("event %d of %d, of commit %s, which says %+v", e.Seq, n, e.CommitID, c)
			}
		}
	}
	want := int64(0)
	for _, c := range results {
		want += c.Version - c.First + 1
	}
	if int64(found) != want {
		w.Errorf("%d events, commits have %d", found, want)
	}
}

// The same append, sent several times concurrently, happens once.
func sameAppendConcurrently(w *suite) {
	for n := range 30 {
		var again sync.WaitGroup
		commits := make([]eventstore.Commit, 4)
		for i := range commits {
			again.Go(func() {
				var err error
				if commits[i], err = w.writer().Append(w.ctx, order("1"), eventstore.Any(), said("E"), eventstore.CommitID(fmt.Sprint(n))); err != nil {
					w.Error(err)
				}
			})
		}
		again.Wait()
		for _, c := range commits {
			if c.Version != int64(n)+1 {
				w.Errorf("append %d: %+v", n, commits)
			}
		}
	}
}

// Money moves between accounts concurrently: none is created or lost, and each transfer is on both
// accounts or none.
func concurrentMultiStreamAppends(w *suite) {
	var writers sync.WaitGroup
	for n := range 6 {
		writers.Go(func() {
			r := rand.New(rand.NewPCG(w.seed, uint64(n)))
			for i := range 15 {
				from := r.IntN(4)
				name := fmt.Sprintf("T%d-%d", n, i)
				parts := []eventstore.AppendTo{to(order(fmt.Sprint(from)), eventstore.Any(), name), to(order(fmt.Sprint((from+1+r.IntN(3))%4)), eventstore.Any(), name)}
				for range 1 + r.IntN(2) {
					if _, err := w.writer().AppendAll(w.ctx, parts, eventstore.CommitID(name)); err != nil && !errors.Is(err, eventstore.ErrBusy) && !errors.Is(err, table.ErrConflict) {
						w.Error(err)
					}
				}
			}
		})
	}
	writers.Wait()
	seen := map[string]int{}
	for n := range 4 {
		for e, err := range w.writer().Read(w.ctx, order(fmt.Sprint(n))) {
			w.must(err)
			seen[e.EventType]++
		}
	}
	for name, n := range seen {
		if n != 2 {
			w.Errorf("%s happened to %d aggregates", name, n)
		}
	}
	if len(seen) == 0 {
		w.Error("nothing happened")
	}
}
