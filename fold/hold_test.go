package fold_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/fold/streamsource"
	"github.com/onefold/onefold/table"
)

// TestHoldWritesOnce checks that an item of a fold with Hold is written once for the changes of
// many flushes. Until the write the checkpoint stays behind, so a worker that starts anew folds
// those changes again. It does not count again what another worker has written in the meantime.
func TestHoldWritesOnce(t *testing.T) {
	for _, other := range []bool{false, true} {
		t.Run(fmt.Sprintf("another worker comes between: %t", other), func(t *testing.T) {
			at := newClock()
			b := openEngine(t, engine.Options{Clock: at.now})
			tab := table.New(b.db, "table", table.Options{Clock: at.now})
			held := func(o fold.Options) *fold.Worker {
				return newWorker(t, tab, streamsource.New(b.db, b.arn), o, totalsFold().With(fold.Hold(10*time.Second)))
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var w *fold.Worker
			second := 0
			w = held(fold.Options{FlushAge: time.Second, Poll: time.Second, Sleep: func(context.Context, time.Duration) error {
				at.add(time.Second)
				switch second++; {
				case second <= 8:
					put(t, tab, order{orderKey{fmt.Sprint(second)}, "eu", 10})
				case second == 9:
					if s := w.Status(); s.Writes != 0 || s.Waiting != 8 || s.Flushes < 5 {
						t.Errorf("before its time: %d writes, %d changes waiting, %d flushes", s.Writes, s.Waiting, s.Flushes)
					}
					if age := longestHeld(w); age < 5*time.Second || age > 10*time.Second {
						t.Errorf("what waits is said to be %s old", age)
					}
					if other {
						drain(t, held(fold.Options{}))
					}
				case second == 20:
					cancel()
				}
				return ctx.Err()
			}})
			if err := w.Run(ctx); err != nil {
				t.Fatal(err)
			}
			want, skipped := int64(1), int64(0)
			if other {
				want, skipped = 0, 8
			}
			if age := longestHeld(w); age != 0 {
				t.Errorf("nothing waits, but something is %s old", age)
			}
			if s := w.Status(); s.Writes != want || s.Skipped != skipped || s.Waiting != 0 {
				t.Errorf("%d writes, %d skipped, %d waiting; want %d, %d, 0", s.Writes, s.Skipped, s.Waiting, want, skipped)
			}
			if got, err := totals.Get(t.Context(), tab, totalKey{"eu"}); err != nil || got.Orders != 8 || got.Amount != 80 {
				t.Errorf("the total is %+v, error %v", got, err)
			}
			again := held(fold.Options{})
			drain(t, again)
			if s := again.Status(); s.Changes != 0 {
				t.Errorf("the checkpoint is %d changes behind what is written", s.Changes)
			}
		})
	}
}

// TestHoldIsBoundedInBytes checks that a batch is written early if its images exceed the byte
// limit.
func TestHoldIsBoundedInBytes(t *testing.T) {
	held := newShifts(t, 20*time.Minute, 60)
	held.options.FlushBytes = 100 // of a change or two
	w := held.work(70, (*fold.Worker).Run)
	if s := w.Status(); s.Writes < 20 {
		t.Errorf("%d writes", s.Writes)
	}
	held.check()
}

// TestShiftEndLeavesHeldChanges runs workers one after another. Each leaves its waiting changes to the
// next, which reads them again. The changes must count once, and must cause no more writes than
// with a single worker.
func TestShiftEndLeavesHeldChanges(t *testing.T) {
	held, writes := newShifts(t, 10*time.Second, 40), int64(0)
	held.options.Leases = true
	for i, run := range []func(*fold.Worker, context.Context) error{(*fold.Worker).RunShift, (*fold.Worker).RunShift, (*fold.Worker).Run} {
		s := held.work(15*(i+1), run).Status()
		if last := i == 2; (s.Waiting == 0) != last {
			t.Errorf("shift %d left %d changes to the next", i, s.Waiting)
		}
		writes += s.Writes
	}
	if writes > 5 {
		t.Errorf("%d writes in 40 seconds of which each waits for 10", writes)
	}
	held.check()
}

// shifts runs workers one after another, while the clock moves so that one change arrives per
// second.
type shifts struct {
	*testing.T
	bench           *bench
	clock           *clock
	table           *table.Table
	options         fold.Options
	fold            *fold.Fold
	second, changes int
}

func newShifts(t *testing.T, hold time.Duration, changes int) *shifts {
	at := newClock()
	b := openEngine(t, engine.Options{Clock: at.now})
	return &shifts{T: t, bench: b, clock: at, table: table.New(b.db, "table", table.Options{Clock: at.now}), changes: changes,
		options: fold.Options{FlushAge: time.Second, Poll: time.Second}, fold: totalsFold().With(fold.Hold(hold))}
}

func (s *shifts) work(until int, run func(*fold.Worker, context.Context) error) *fold.Worker {
	ctx, cancel := context.WithCancel(s.Context())
	defer cancel()
	s.options.Sleep = func(context.Context, time.Duration) error {
		s.clock.add(time.Second)
		if s.second++; s.second <= s.changes {
			put(s.T, s.table, order{orderKey{fmt.Sprint(s.second)}, "eu", 10})
		}
		if s.second >= until {
			cancel()
		}
		return ctx.Err()
	}
	w := newWorker(s.T, s.table, streamsource.New(s.bench.db, s.bench.arn), s.options, s.fold)
	if err := run(w, ctx); err != nil {
		s.Fatal(err)
	}
	return w
}

func (s *shifts) check() {
	s.Helper()
	if got, err := totals.Get(s.Context(), s.table, totalKey{"eu"}); err != nil || got.Orders != s.changes {
		s.Errorf("the total is %+v, error %v", got, err)
	}
}

func longestHeld(w *fold.Worker) (age time.Duration) {
	for _, sh := range w.Status().Shards {
		age = max(age, sh.Held)
	}
	return age
}

// TestHoldRebuildsOneOfTwo has a change that touches two items, of which one is written and one
// waits. When somebody else has written the waiting item, the worker applies the change to it
// again. Applying it must leave no trace in the other item, and must find the key of the other item
// as it was the first time.
func TestHoldRebuildsOneOfTwo(t *testing.T) {
	at := newClock()
	b := openEngine(t, engine.Options{Clock: at.now})
	tab := table.New(b.db, "table", table.Options{Clock: at.now})
	pairs := fold.New("pairs", totals, func(into, d *total) { into.Orders += d.Orders },
		fold.On(orders, func(c fold.Typed[order], at func(totalKey) *total) error {
			for _, region := range []string{c.New.Region, "all"} {
				one := at(totalKey{region})
				if one.Region != region {
					return fmt.Errorf("the state of %s says %q", region, one.Region)
				}
				one.Orders++
			}
			return nil
		})).With(fold.Hold(4 * time.Second))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	second := 0
	var w *fold.Worker
	w = newWorker(t, tab, streamsource.New(b.db, b.arn), fold.Options{FlushAge: time.Second, Poll: time.Second, Sleep: func(context.Context, time.Duration) error {
		at.add(time.Second)
		switch second++; second {
		case 1:
			put(t, tab, order{orderKey{"1"}, "eu", 1})
		case 11:
			put(t, tab, order{orderKey{"2"}, "us", 1})
		case 14:
			put(t, tab, order{orderKey{"3"}, "eu", 1})
		case 18:
			if s := w.Status(); s.Writes != 4 || s.Waiting != 1 {
				t.Errorf("%d writes, %d changes waiting; want 4 and the one that eu waits with", s.Writes, s.Waiting)
			}
			rewrite(t, tab, totalKey{"eu"})
		case 30:
			cancel()
		}
		return ctx.Err()
	}}, pairs)
	if err := w.Run(ctx); err != nil {
		t.Fatal(err)
	}
	if s := w.Status(); s.DeadLetters != 0 || s.Conflicts != 1 {
		t.Errorf("%d dead letters, %d conflicts; want none and 1", s.DeadLetters, s.Conflicts)
	}
	for region, want := range map[string]int{"eu": 2, "us": 1, "all": 3} {
		if got, err := totals.Get(t.Context(), tab, totalKey{region}); err != nil || got.Orders != want {
			t.Errorf("%s has %+v, error %v; want %d orders", region, got, err, want)
		}
	}
}

// rewrite writes a derived item unchanged, which gives it a new version.
func rewrite(t *testing.T, tab *table.Table, key totalKey) {
	t.Helper()
	found, err := fold.Load(t.Context(), tab, totals, []totalKey{key})
	if err == nil {
		err = fold.ReplaceState(t.Context(), tab, totals, key, found[0].State, found[0].Version)
	}
	if err != nil {
		t.Fatal(err)
	}
}
