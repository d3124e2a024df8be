package eventstore_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"sync"
	"testing"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/eventstoretest"
	"github.com/onefold/onefold/internal/seeds"
)

// The next load begins at the cached state, if there is one.
func TestCache(t *testing.T) {
	both(t, func(w *world) {
		fold := tally
		fold.Cache = eventstore.NewCache[map[string]int](1)
		reads := func(id eventstore.ID, want int, say string) {
			w.Helper()
			at, err := eventstore.Load(w.ctx, w.store, id, fold)
			if err != nil || at.Read != want || at.State["E"] != int(at.Version) {
				w.Errorf("%s: %+v, %v; want %d events to be read", say, at, err, want)
			}
		}
		for range 5 {
			w.append(order("1"), eventstore.Any(), "E")
		}
		reads(order("none"), 0, "no stream")
		reads(order("1"), 5, "the first time")
		reads(order("1"), 0, "the second time")
		w.append(order("1"), eventstore.Any(), "E")
		reads(order("1"), 1, "after another event")
		w.append(order("2"), eventstore.Any(), "E")
		reads(order("2"), 1, "another stream")
		reads(order("1"), 6, "after another took its place")
		fold.Cache.Drop(w.store, order("1"))
		reads(order("1"), 6, "after it was dropped")
		other, err := eventstore.New(w.table, eventstore.Options{PutMode: w.oneByOne})
		w.must(err)
		if at, err := eventstore.Load(w.ctx, other, order("1"), fold); err != nil || at.Read != 6 {
			w.Errorf("through another store: %+v, %v", at, err)
		}
	})
}

// A store with secrets caches no states, because they would outlive their keys.
func TestCacheKeepsNoSecrets(t *testing.T) {
	w := newWorld(t, eventstore.Options{Secrets: &eventstore.Secrets{
		Seal: func(context.Context, []eventstore.Event) error { return nil }, Open: func(context.Context, *eventstore.Event) error { return nil },
	}})
	fold := tally
	fold.Cache = eventstore.NewCache[map[string]int](10)
	w.append(order("1"), eventstore.Any(), "E", "E")
	for range 2 {
		if at, err := eventstore.Load(w.ctx, w.store, order("1"), fold); err != nil || at.Read != 2 {
			t.Errorf("%+v, %v", at, err)
		}
	}
}

// A state that is ahead of its stream, because an older table was restored, is dropped.
func TestCacheAheadOfTheStream(t *testing.T) {
	both(t, func(w *world) {
		fold := tally
		fold.Cache = eventstore.NewCache[map[string]int](10)
		for range 3 {
			w.append(order("1"), eventstore.Any(), "E")
		}
		if _, err := eventstore.Load(w.ctx, w.store, order("1"), fold); err != nil {
			w.Fatal(err)
		}
		eventstoretest.Remove(w, w.table, order("1"), 3)
		overwrite(w, eventstore.Heads, order("1"), func(h *eventstore.Head) { h.Version = 2 })
		at, err := eventstore.Transact(w.ctx, w.store, order("1"), fold, func(eventstore.Loaded[map[string]int]) ([]eventstore.NewEvent, error) { return said("F"), nil })
		if err != nil || at.Version != 3 || at.State["F"] != 1 || at.State["E"] != 2 {
			w.Errorf("%+v, %v", at, err)
		}
	})
}

// Loads and decisions are the same with and without caches, in two processes, while snapshots are
// made and removed.
func TestCachedLoadsEqualUncached(t *testing.T) { seeds.Run(t, 1, cacheChangesNothing) }

func cacheChangesNothing(t *testing.T, seed uint64) {
	both(t, func(w *world) {
		var writers sync.WaitGroup
		for n := range 4 {
			store, err := eventstore.New(w.table, eventstore.Options{PutMode: w.oneByOne})
			w.must(err)
			fold := tally
			if n > 0 { // the first has no cache
				fold.Cache = eventstore.NewCache[map[string]int](n)
			}
			writers.Go(func() {
				r := rand.New(rand.NewPCG(seed, uint64(n)))
				for range 40 {
					id := order(fmt.Sprint(r.IntN(3)))
					at, err := eventstore.Transact(w.ctx, store, id, fold, func(at eventstore.Loaded[map[string]int]) ([]eventstore.NewEvent, error) {
						if r.IntN(3) == 0 {
							return nil, nil
						}
						total := 0
						for _, n := range at.State {
							total += n
						}
						if int64(total) != at.Version {
							w.Errorf("%d events in a state of version %d", total, at.Version)
						}
						return said(fmt.Sprint("E", r.IntN(4))), nil
					})
					if err != nil && !errors.Is(err, eventstore.ErrBusy) {
						w.Error(err)
					}
					if err == nil && at.Version > 0 && r.IntN(5) == 0 {
						if _, err := eventstore.SaveSnapshot(w.ctx, store, fold, at); err != nil {
							w.Error(err)
						}
					}
					plain := fold
					plain.Cache, plain.Version = nil, 0
					with, err := eventstore.Load(w.ctx, store, id, fold)
					w.noError(err)
					without, err := eventstore.Load(w.ctx, store, id, plain)
					w.noError(err)
					if with.Version == without.Version && with.Version > 0 && !reflect.DeepEqual(with.State, without.State) || with.Version > without.Version {
						w.Errorf("%+v with the cache, %+v without", with, without)
					}
				}
			})
		}
		writers.Wait()
	})
}
