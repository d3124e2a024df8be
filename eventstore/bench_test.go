package eventstore_test

import (
	"bytes"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/table"
)

// newBench returns a store in a directory.
func newBench(b *testing.B) *eventstore.Store {
	db, err := engine.Open(b.TempDir(), engine.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := db.Close(); err != nil {
			b.Error(err)
		}
	})
	if err := eventstore.Schema.Ensure(b.Context(), db, "onefold"); err != nil {
		b.Fatal(err)
	}
	store, err := eventstore.New(table.New(db, "onefold", table.Options{}), eventstore.Options{})
	if err != nil {
		b.Fatal(err)
	}
	return store
}

// BenchmarkLoad loads an aggregate of 1,000 events of 320 bytes: completely, from a snapshot at
// 950, and with a cached state.
func BenchmarkLoad(b *testing.B) {
	store := newBench(b)
	events := make([]eventstore.NewEvent, 50)
	for i := range events {
		events[i] = eventstore.NewEvent{Type: "Added", Payload: bytes.Repeat([]byte("x"), 320)}
	}
	sizes := eventstore.Fold[int]{Version: 1, Apply: func(n int, e eventstore.Event) (int, error) { return n + len(e.Payload), nil }}
	for range 19 {
		appendTo(b, store, events)
	}
	at, err := eventstore.Load(b.Context(), store, order("1"), sizes)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := eventstore.SaveSnapshot(b.Context(), store, sizes, at); err != nil {
		b.Fatal(err)
	}
	appendTo(b, store, events)
	whole := sizes
	whole.Version = 0
	kept := whole
	kept.Cache = eventstore.NewCache[int](1)
	for _, c := range []struct {
		name string
		fold eventstore.Fold[int]
	}{{"whole", whole}, {"snapshot", sizes}, {"cache", kept}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if at, err := eventstore.Load(b.Context(), store, order("1"), c.fold); err != nil || at.State != 320_000 {
					b.Fatal(at, err)
				}
			}
		})
	}
}

func appendTo(b *testing.B, store *eventstore.Store, events []eventstore.NewEvent) {
	b.Helper()
	if _, err := store.Append(b.Context(), order("1"), eventstore.Any(), events); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkPages appends single events of 320 bytes to many aggregates, and loads one that was
// appended to a thousand times, with pages of several sizes.
func BenchmarkPages(b *testing.B) {
	for _, size := range []int{600, 1 << 10, 2 << 10, 4 << 10, 8 << 10} {
		db, err := engine.Open(b.TempDir(), engine.Options{})
		if err != nil {
			b.Fatal(err)
		}
		if err := eventstore.Schema.Ensure(b.Context(), db, "onefold"); err != nil {
			b.Fatal(err)
		}
		store, err := eventstore.New(table.New(db, "onefold", table.Options{}), eventstore.Options{PageBytes: size})
		if err != nil {
			b.Fatal(err)
		}
		events := []eventstore.NewEvent{{Type: "Added", Payload: bytes.Repeat([]byte("x"), 320)}}
		for range 1000 {
			appendTo(b, store, events)
		}
		b.Run(fmt.Sprint("append/", size), func(b *testing.B) {
			var n atomic.Int64
			before := db.Metered().Tables["onefold"].WriteUnits
			b.SetParallelism(16)
			b.RunParallel(func(pb *testing.PB) {
				id, version := order(fmt.Sprint("p", n.Add(1), b.N)), int64(0)
				for pb.Next() {
					c, err := store.Append(b.Context(), id, eventstore.Exact(version), events)
					if err != nil {
						b.Error(err)
						return
					}
					version = c.Version
				}
			})
			b.ReportMetric((db.Metered().Tables["onefold"].WriteUnits-before)/float64(b.N), "units/op")
		})
		sizes := eventstore.Fold[int]{Apply: func(n int, e eventstore.Event) (int, error) { return n + len(e.Payload), nil }}
		b.Run(fmt.Sprint("load/", size), func(b *testing.B) {
			for b.Loop() {
				if at, err := eventstore.Load(b.Context(), store, order("1"), sizes); err != nil || at.State != 320_000 {
					b.Fatal(at, err)
				}
			}
		})
		if err := db.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
