package projection_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/onefold/onefold/engine/enginetest"
	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/projection"
	"github.com/onefold/onefold/fold"
)

// louder is another Apply: it produces the same in capitals, and accepts bad events.
func louder(m *orderState, e *eventstore.Event) error {
	err := tells(m, e)
	if m.Story = strings.ToUpper(m.Story); errors.Is(err, errBad) {
		return nil
	}
	return err
}

// checkModels compares read models and groups with the events.
func (w *world) checkModels(p *projection.Projection[orderState], g *projection.Groups[orderState, cityTotal], apply func(*orderState, *eventstore.Event) error) {
	w.Helper()
	count := map[string]int{}
	for h, err := range eventstore.AggregatesOfType.All(w.ctx, w.table, eventstore.AggregatesIn{Type: "order"}) {
		w.must(err)
		var want orderState
		var at int64
		for e, err := range w.store.Read(w.ctx, h.ID) {
			w.must(err)
			w.must(apply(&want, &e))
			at = e.Seq
		}
		m, err := p.Get(w.ctx, h.ID)
		w.must(err)
		if m.State != want || m.Applied != at {
			w.Errorf("%s is %+v at %d, want %+v at %d", h.ID, m.State, m.Applied, want, at)
		}
		if !want.Sent && want.City != "" {
			count[want.City]++
		}
	}
	var cities []string
	for _, c := range slices.Sorted(maps.Keys(count)) {
		cities = append(cities, fmt.Sprint(c, " ", count[c]))
	}
	w.is("cities", w.cities(g), strings.Join(cities, " "))
}

func TestRebuildComparesAndSwitches(t *testing.T) {
	w := newWorld(t)
	one := w.define(1, tells)
	w.append(order(1), "Placed", "Moved:Ulm")
	w.append(order(2), "Placed", "Bad", "Moved:Ulm")
	w.append(order(3), "Placed", "Panic")
	if err := one.Start(w.ctx); !errors.Is(err, projection.ErrNotActive) {
		t.Errorf("start with a past: %v, want ErrNotActive", err)
	}
	c, err := one.Rebuild(w.ctx, projection.RebuildOptions{})
	w.must(err)
	if c.Aggregates != 3 || c.Fewer != 2 || c.Inactive != 1 {
		t.Errorf("the first comparison is %+v", c)
	}
	w.is("order 2", w.model(one, order(2)), "1Placed")

	two := w.define(2, louder)
	cities := w.byCity(two)
	worker := w.worker(append(one.Folds(), two.Folds()...)...)
	w.append(order(1), "Sent")
	w.append(order(5), "Placed", "Moved:Bonn")
	w.must(worker.Drain(w.ctx))
	w.is("served", w.model(two, order(1)), "1Placed 2Moved 3Sent") // version 1
	if _, err := two.Rebuild(w.ctx, projection.RebuildOptions{}); !errors.Is(err, projection.ErrDefinition) {
		t.Errorf("rebuild of groups without a worker: %v", err)
	}
	if _, err = two.Rebuild(w.ctx, projection.RebuildOptions{CaughtUp: worker.Drain}); !errors.Is(err, projection.ErrNotSwitched) {
		t.Errorf("rebuild with a parked aggregate: %v, want ErrNotSwitched", err)
	}
	refused := errors.New("not like that")
	_, err = two.Rebuild(w.ctx, projection.RebuildOptions{CaughtUp: worker.Drain, Approve: func(c projection.Comparison) error {
		why := map[string]int{}
		for _, d := range c.Samples {
			why[d.Why]++
		}
		if c.Aggregates != 4 || c.Different != 2 || c.Fewer != 1 || c.Inactive != 1 || c.Same != 0 || why["different"] != 2 {
			t.Errorf("the comparison is %+v", c)
		}
		return refused
	}})
	if !errors.Is(err, refused) {
		t.Errorf("rebuild: %v, want what Approve says", err)
	}
	w.is("served", w.model(two, order(1)), "1Placed 2Moved 3Sent")
	_, err = two.Rebuild(w.ctx, projection.RebuildOptions{CaughtUp: worker.Drain, Approve: func(projection.Comparison) error { return nil }})
	w.must(err)
	w.is("served now", w.model(two, order(1)), "1PLACED 2MOVED 3SENT")
	w.is("order 2", w.model(two, order(2)), "1PLACED 2BAD 3MOVED")
	w.is("cities", w.cities(cities), "Bonn 1 Ulm 1")
	if s, err := two.ActiveVersion(w.ctx); err != nil || s.Version != 2 || s.Previous != 1 {
		t.Errorf("served is %+v (%v)", s, err)
	}
	if err := two.Remove(w.ctx, 2); !errors.Is(err, projection.ErrActive) {
		t.Errorf("remove what is served: %v", err)
	}
	w.must(two.Remove(w.ctx, 1))
	if n := w.itemsOf("projection.orders.v1"); n != 0 {
		t.Errorf("%d items of version 1 are left", n)
	}
}

// itemsOf counts the items of an entity among the models of all orders.
func (w *world) itemsOf(entity string) (n int) {
	w.Helper()
	for it := range w.items() {
		if it == entity {
			n++
		}
	}
	return n
}

// TestRebuildResumesAfterCrash ends a rebuild at each of its requests, before and after its effect,
// and continues in another process, while appends are made.
func TestRebuildResumesAfterCrash(t *testing.T) {
	for _, effect := range []enginetest.Effect{enginetest.Fail, enginetest.LoseAnswer} {
		steps := 0
		for crashed := true; crashed; {
			steps++
			crashed = crashRebuild(t, steps, effect)
		}
		if steps < 20 {
			t.Errorf("a rebuild has %d requests: too few for a test", steps)
		}
	}
}

func crashRebuild(t *testing.T, step int, effect enginetest.Effect) (crashed bool) {
	w := newWorld(t)
	defer w.db.Close()
	old := w.define(1, tells)
	for i := range 12 {
		w.append(order(i), "Placed", "Moved:"+string(rune('A'+i%3)))
	}
	_, err := old.Rebuild(w.ctx, projection.RebuildOptions{})
	w.must(err)
	process := func() func(context.Context) error {
		p := w.define(2, louder)
		w.byCity(p)
		worker := w.worker(append(p.Folds(), eventstore.FeedFold())...)
		return func(ctx context.Context) error {
			_, err := p.Rebuild(ctx, projection.RebuildOptions{CaughtUp: worker.Drain})
			return err
		}
	}
	first := process()
	ctx, crash := context.WithCancel(w.ctx)
	defer crash()
	n := 0
	dead := func(enginetest.Access) bool {
		if n++; n == step {
			crash()
		}
		return n > step
	}
	at := func(enginetest.Access) bool { return n+1 == step }
	w.db.Inject(enginetest.Fault{Effect: effect, When: at}, enginetest.Fault{Effect: enginetest.Fail, When: dead})
	err = first(ctx)
	if crashed = ctx.Err() != nil; !crashed && err != nil {
		t.Fatalf("step %d: %v", step, err)
	}
	w.db.Heal()
	w.append(order(3), "Sent")
	w.append(order(99), "Placed", "Moved:A")
	w.must(process()(w.ctx))
	p := w.define(2, louder)
	g := w.byCity(p)
	w.must(w.worker(append(p.Folds(), eventstore.FeedFold())...).Drain(w.ctx))
	w.checkModels(p, g, louder)
	if left, err := projection.CheckpointsOf.Collect(w.ctx, w.table, projection.CheckpointsIn{Name: "orders", Version: 2}); err != nil || len(left) > 0 {
		t.Errorf("step %d: checkpoints %v are left (%v)", step, left, err)
	}
	if t.Failed() {
		t.Fatalf("step %d", step)
	}
	return crashed
}

// TestRebuildDuringAppends runs writers, two workers that fold both versions, and a rebuild at
// the same time.
func TestRebuildDuringAppends(t *testing.T) {
	w := newWorld(t)
	one, two := w.define(1, tells), w.define(2, louder)
	w.must(one.Start(w.ctx))
	cities := w.byCity(two)
	write := func(r *rand.Rand) {
		id := order(r.IntN(150))
		event := []string{"Paid", "Moved:Ulm", "Moved:Bonn", "Sent"}[r.IntN(4)]
		if _, err := w.store.Append(w.ctx, id, eventstore.Any(), []eventstore.NewEvent{{Type: strings.Split(event, ":")[0], Payload: []byte(`"` + event[len(event)-3:] + `"`)}}); err != nil && !errors.Is(err, eventstore.ErrBusy) {
			t.Error(err)
		}
	}
	r := rand.New(rand.NewPCG(1, 1))
	for range 300 {
		write(r)
	}
	ctx, stop := context.WithCancel(w.ctx)
	var running, writing sync.WaitGroup
	for range 2 {
		worker := w.worker(slices.Concat(one.Folds(), two.Folds(), []*fold.Fold{eventstore.FeedFold()})...)
		running.Go(func() {
			for ctx.Err() == nil {
				if err := worker.Drain(ctx); err != nil && ctx.Err() == nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for i := range 3 {
		writing.Go(func() {
			r := rand.New(rand.NewPCG(uint64(i), 2))
			for range 100 {
				write(r)
			}
		})
	}
	told := 0
	last := w.worker(slices.Concat(one.Folds(), two.Folds(), []*fold.Fold{eventstore.FeedFold()})...)
	_, err := two.Rebuild(w.ctx, projection.RebuildOptions{CaughtUp: last.Drain, Progress: func(projection.Progress) { told++ }})
	w.must(err)
	if told == 0 {
		t.Error("no progress was told")
	}
	writing.Wait()
	stop()
	running.Wait()
	w.must(w.worker(slices.Concat(one.Folds(), two.Folds(), []*fold.Fold{eventstore.FeedFold()})...).Drain(w.ctx))
	w.checkModels(two, cities, louder)
}
