package export

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/onefold/onefold/warehouse"
	"github.com/onefold/onefold/warehouse/warehousetest"
)

func jsonOf(r warehouse.Row) string {
	b, err := json.Marshal(r)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// seeds is the number of random seeds that a test runs. A failure reports its seed.
const seeds = 2

func each(t *testing.T, rounds int, test func(w *world)) {
	for seed := range uint64(seeds) {
		w := newWorld(t, seed)
		for round := range rounds {
			for range 12 {
				w.write()
			}
			if round == 0 {
				w.Drain() // the first export finds aggregates by their types, which must be folded
			}
			test(w)
			if t.Failed() {
				t.Fatalf("seed %d", seed)
			}
		}
	}
}

// The warehouse has what the table has, whatever happens to the table between exports.
func TestExport(t *testing.T) {
	each(t, 4, func(w *world) {
		w.Must(w.exporter().CatchUp(w.Ctx))
		w.compare()
	})
}

// The objects fail before and after every kind of operation, and processes die anywhere.
func TestFaults(t *testing.T) {
	each(t, 2, func(w *world) {
		left := 0 // number of operations until the process dies
		faulty := &warehousetest.Faulty{Objects: w.memory}
		faulty.Decide = func(string, string) warehousetest.Fault {
			if left--; left < 0 {
				return warehousetest.Before
			}
			return []warehousetest.Fault{warehousetest.Before, warehousetest.After, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}[w.random.IntN(14)]
		}
		for range 8 {
			left = 10 + w.random.IntN(150)
			w.objects = faulty
			if x := w.exporter(); x != nil {
				if err := x.CatchUp(w.Ctx); err != nil && !errors.Is(err, warehousetest.ErrFault) {
					w.Fatal(err)
				}
			}
			w.write()
		}
		w.objects = w.memory
		w.Must(w.exporter().CatchUp(w.Ctx))
		w.compare()
	})
}

// Each operation in turn is the last one of a process.
func TestDiesAnywhere(t *testing.T) {
	for _, fault := range []warehousetest.Fault{warehousetest.Before, warehousetest.After} {
		w := newWorld(t, 3)
		for range 6 {
			w.write()
		}
		w.Drain()
		for n := 1; ; n++ {
			did := 0
			w.objects = &warehousetest.Faulty{Objects: w.memory, Decide: func(string, string) warehousetest.Fault {
				switch did++; {
				case did == n:
					return fault
				case did > n:
					return warehousetest.Before
				}
				return warehousetest.None
			}}
			x := w.exporter()
			if x != nil && x.CatchUp(w.Ctx) == nil {
				break
			}
			if n%8 == 0 {
				w.write()
			}
		}
		w.objects = w.memory
		w.Must(w.exporter().CatchUp(w.Ctx))
		w.compare()
	}
}

// Several exporters run at once during writes: each fact is in the warehouse once.
func TestSeveral(t *testing.T) {
	each(t, 1, func(w *world) {
		var wait sync.WaitGroup
		for range 3 {
			x := w.exporter()
			wait.Go(func() {
				for range 3 {
					if err := x.CatchUp(w.Ctx); err != nil && !errors.Is(err, warehouse.ErrConflict) && !errors.Is(err, warehouse.ErrNotFound) {
						w.Error(err)
					}
				}
			})
		}
		for range 10 {
			w.write()
		}
		wait.Wait()
		w.Must(w.exporter().CatchUp(w.Ctx))
		w.compare()
	})
}

// Nothing is exported for longer than the stream keeps changes.
func TestTrimmed(t *testing.T) {
	each(t, 2, func(w *world) {
		w.Must(w.exporter().CatchUp(w.Ctx))
		w.compare()
		exported, gone := w.facts(), maps.Clone(w.expired)
		for range 4 {
			w.visit()
			w.readings()
			w.append()
			w.erase()
		}
		w.Drain()
		w.expire(25 * time.Hour)
		for key := range w.expired { // facts that come and go unnoticed are nowhere
			switch rows, was := exported[key]; {
			case gone[key] != nil:
			case was:
				w.expired[key] = rows
			default:
				delete(w.expired, key)
			}
		}
		now := w.facts()
		for key, rows := range exported { // deleted facts cannot be told from those that would have expired since
			if at := rows[0].Expires(); now[key] == nil && at != 0 && at <= w.Now().Add(time.Hour).UnixMilli() {
				w.expired[key] = rows
			}
		}
		w.Must(w.DB.TrimStreams(w.Ctx))
		for range 6 {
			w.writeNow() // not write: facts that expired now would never have been exported
		}
		w.Drain()
		x := w.exporter()
		w.Must(x.CatchUp(w.Ctx))
		w.compare()
		if s := x.w.Status(); len(s.Missed) == 0 || s.Repair != nil {
			w.Errorf("it does not say that changes were missed: %+v", s)
		}
		found, err := x.Check(w.Ctx)
		w.Must(err)
		for _, c := range found {
			if !c.OK() || c.Both == 0 && c.Table > 0 {
				w.Errorf("%+v", c)
			}
		}
	})
}

// While Run works, it calls Caught when everything is exported, and again later. Caught may change
// the warehouse.
func TestRunCaught(t *testing.T) {
	w := newWorld(t, 5)
	for range 12 {
		w.write()
	}
	w.Drain()
	x := w.exporter()
	ctx, cancel := context.WithCancel(w.Ctx)
	defer cancel()
	calls := 0
	began := w.Now()
	x.o.Caught = func(ctx context.Context, house *warehouse.Warehouse, before time.Time) error {
		if before.Before(began) {
			t.Errorf("all is exported of before %v, want %v or later", before, began)
		}
		if calls++; calls == 3 {
			cancel()
			return nil
		}
		w.write()
		w.Advance(caughtEvery)
		return house.Commit(ctx, house.Version(), &warehouse.Entry{Why: "erase"})
	}
	if err := x.Run(ctx); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if calls != 3 {
		t.Errorf("called %d times", calls)
	}
	if before, rows := x.CaughtUp(); before.Before(began.Add(caughtEvery)) || rows == 0 {
		t.Errorf("all is exported of before %v, %d rows", before, rows)
	}
	w.Must(x.Stop(w.Ctx))
	w.Must(w.exporter().CatchUp(w.Ctx))
	w.compare()
}
