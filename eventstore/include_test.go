package eventstore_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/onefold/onefold/engine/enginetest"
	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/internal/seeds"
	"github.com/onefold/onefold/table"
)

// totalKey names a total.
type totalKey struct {
	Order string `dynamodbav:"order"`
}

// total is a read model that is written with each append.
type total struct {
	totalKey
	Version int64            `dynamodbav:"version"`
	Counts  map[string]int64 `dynamodbav:"counts"`
}

var (
	totals       = table.Define[total, totalKey]("test.total", table.Def[total]{PK: "TOTAL#{order}", SK: "TOTAL", Doc: "Events by type."})
	totalVersion = table.FieldOf(totals, func(t *total) *int64 { return &t.Version })
)

// counted adds the events to the total, which must be at the version before them.
func (w *world) counted(id eventstore.ID) eventstore.AppendOption {
	return eventstore.Include(func(tx *table.Tx, events []eventstore.Event) error {
		key := totalKey{id.ID}
		was, err := totals.Get(w.ctx, w.table, key)
		if err != nil && !errors.Is(err, table.ErrNotFound) {
			return err
		}
		next, unchanged := total{key, events[len(events)-1].Seq, map[string]int64{}}, table.Absent()
		if err == nil {
			unchanged = totalVersion.Eq(was.Version)
		}
		for name, n := range was.Counts {
			next.Counts[name] = n
		}
		for _, e := range events {
			next.Counts[e.EventType]++
		}
		totals.TxPut(tx, &next, unchanged)
		return nil
	})
}

// A read model that is included in appends has each event once, whatever fails.
func TestInclude(t *testing.T) { seeds.Run(t, 5, include) }

func include(t *testing.T, seed uint64) {
	synctest.Test(t, func(t *testing.T) {
		w, r := newWorld(t, eventstore.Options{PageBytes: 300}), rand.New(rand.NewPCG(seed, 0))
		for range 3 {
			w.db.Inject(enginetest.Fault{Effect: []enginetest.Effect{enginetest.Fail, enginetest.LoseAnswer, enginetest.Conflict}[r.IntN(3)], Writes: true, Every: 3 + r.IntN(10)})
		}
		var all sync.WaitGroup
		for i := range 6 {
			own := rand.New(rand.NewPCG(seed, uint64(i)+1))
			all.Go(func() {
				for n := range 8 {
					id := order(fmt.Sprint(own.IntN(2)))
					for { // until it has happened
						_, err := eventstore.Transact(w.ctx, w.store, id, tokens, func(eventstore.Loaded[[]string]) ([]eventstore.NewEvent, error) {
							return said([]string{"A", "B", "C"}[:1+own.IntN(3)]...), nil
						}, eventstore.CommitID(fmt.Sprint(i, ".", n)), w.counted(id))
						if err == nil {
							break
						}
						if !errors.Is(err, eventstore.ErrIncluded) && !errors.Is(err, eventstore.ErrBusy) {
							w.Log(err)
						}
					}
				}
			})
		}
		all.Wait()
		w.db.Heal()
		for _, n := range []string{"0", "1"} {
			at, err := eventstore.Load(w.ctx, w.store, order(n), tally)
			w.must(err)
			model, err := totals.Get(w.ctx, w.table, totalKey{n})
			w.must(err)
			same := model.Version == at.Version && len(model.Counts) == len(at.State)
			for name, n := range at.State {
				same = same && model.Counts[name] == int64(n)
			}
			if !same {
				w.Errorf("seed %d: order %s is %+v, its model %+v", seed, n, at, model)
			}
		}
	})
}

// An option of a whole append is called once for each attempt, with the events of all aggregates; one
// of an aggregate with its events.
func TestIncludeOfAll(t *testing.T) {
	w := newWorld(t, eventstore.Options{})
	var seen []string
	noted := func(name string) eventstore.AppendOption {
		return eventstore.Include(func(tx *table.Tx, events []eventstore.Event) error {
			story := name
			for _, e := range events {
				story += fmt.Sprintf(" %s.%d", e.ID.ID, e.Seq)
			}
			seen = append(seen, story)
			totals.TxPut(tx, &total{totalKey: totalKey{name}, Version: int64(len(events))}, table.Absent())
			return nil
		})
	}
	parts := []eventstore.AppendTo{
		{ID: order("1"), Expected: eventstore.Any(), Events: said("A", "B"), Options: []eventstore.AppendOption{noted("one")}},
		{ID: order("2"), Expected: eventstore.Any(), Events: said("C")},
	}
	_, err := w.store.AppendAll(w.ctx, parts, noted("all"), noted("again"))
	w.must(err)
	if want := []string{"one 1.1 1.2", "all 1.1 1.2 2.1", "again 1.1 1.2 2.1"}; !slices.Equal(seen, want) {
		t.Errorf("called with %q, want %q", seen, want)
	}
	put := newWorld(t, eventstore.Options{PutMode: true})
	if _, err := put.store.AppendAll(put.ctx, parts[1:], noted("put")); !errors.Is(err, eventstore.ErrInvalid) {
		t.Error(err)
	}
}

// Nothing is appended if an included operation cannot happen.
func TestIncludeRefused(t *testing.T) {
	w := newWorld(t, eventstore.Options{})
	add := func(ops int, err error, cond ...table.Cond) eventstore.AppendOption {
		return eventstore.Include(func(tx *table.Tx, _ []eventstore.Event) error {
			for i := range ops {
				totals.TxPut(tx, &total{totalKey: totalKey{fmt.Sprint(i)}}, cond...)
			}
			return err
		})
	}
	for name, c := range map[string]struct {
		option eventstore.AppendOption
		want   error
	}{
		"condition": {add(2, nil, totalVersion.Eq(7)), eventstore.ErrIncluded},
		"too many":  {add(99, nil), eventstore.ErrTooLarge},
		"error":     {add(1, errNo), errNo},
	} {
		for _, options := range [][]eventstore.AppendOption{{c.option}, {c.option, eventstore.CommitID(name)}} {
			if _, err := w.store.Append(w.ctx, order("1"), eventstore.Any(), said("A"), options...); !errors.Is(err, c.want) {
				t.Errorf("%s: %v, want %v", name, err, c.want)
			}
		}
	}
	w.isStory(order("1"), "")
	put := newWorld(t, eventstore.Options{PutMode: true})
	if _, err := put.store.Append(put.ctx, order("1"), eventstore.Any(), said("A"), add(1, nil)); !errors.Is(err, eventstore.ErrInvalid) {
		t.Error(err)
	}
}
