package eventstore_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/internal/seeds"
	"github.com/onefold/onefold/table"
)

// Positions by time equal those that a scan of all chunks finds, for feeds of any shape.
func TestFeedPositionsAt(t *testing.T) {
	seeds.Run(t, 10, func(t *testing.T, seed uint64) {
		w, r := newWorld(t, eventstore.Options{}), rand.New(rand.NewPCG(seed, 0))
		at := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
		var chunks []eventstore.FeedChunk
		var end int64
		for range r.IntN(60) {
			at = at.Add([]time.Duration{0, time.Second, time.Minute, 3 * time.Hour}[r.IntN(4)])
			c := eventstore.FeedChunk{At: at, Commits: make([]eventstore.FeedCommit, 1+r.IntN(40))}
			end += int64(len(c.Commits))
			c.Last = end
			w.must(eventstore.FeedChunks.Create(w.ctx, w.table, &c))
			chunks = append(chunks, c)
		}
		if len(chunks) > 0 {
			w.must(eventstore.FeedHeads.Put(w.ctx, w.table, &eventstore.FeedHead{Position: end, Version: 1, UpdatedAt: at}))
		}
		var times []time.Time
		for range 20 {
			times = append(times, time.Date(2026, 4, 30, r.IntN(100), r.IntN(60), 0, 0, time.UTC))
		}
		for _, c := range chunks {
			times = append(times, c.At, c.At.Add(1))
		}
		slices.SortFunc(times, time.Time.Compare)
		have, err := w.store.FeedPositionsAt(w.ctx, times)
		w.must(err)
		for i, t := range times {
			var want int64
			for _, c := range chunks {
				if c.At.Before(t) {
					want = c.Last
				}
			}
			if have[i] != want {
				w.Fatalf("at %s: %d, want %d", t, have[i], want)
			}
		}
	})
}

// A long feed is searched in few steps.
func TestFeedPositionsAtReadLittle(t *testing.T) {
	w := newWorld(t, eventstore.Options{})
	begin := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	const n = 4096
	for i := range int64(n) {
		w.must(eventstore.FeedChunks.Create(w.ctx, w.table, &eventstore.FeedChunk{FeedChunkKey: eventstore.FeedChunkKey{Last: i + 1}, At: begin.Add(time.Duration(i) * time.Minute), Commits: make([]eventstore.FeedCommit, 1)}))
	}
	w.must(eventstore.FeedHeads.Put(w.ctx, w.table, &eventstore.FeedHead{Position: n, Version: 1, UpdatedAt: begin.Add(n * time.Minute)}))
	var times []time.Time
	for h := range 24 {
		times = append(times, begin.Add(time.Duration(h)*time.Hour))
	}
	m := &metered{API: w.db}
	s, err := eventstore.New(table.New(m, w.table.Name(), table.Options{Clock: w.db.Now}), eventstore.Options{})
	w.must(err)
	positions, err := s.FeedPositionsAt(w.ctx, times)
	w.must(err)
	for h, have := range positions {
		if want := int64(h) * 60; have != want {
			t.Errorf("hour %d: %d, want %d", h, have, want)
		}
	}
	if m.read > 150 {
		t.Errorf("%s read units for 24 hours of a feed of %d chunks", fmt.Sprint(m.read), n)
	}
}
