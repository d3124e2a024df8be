package projection_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/eventstoretest"
	"github.com/onefold/onefold/eventstore/projection"
	"github.com/onefold/onefold/fold"
)

func TestReadModelsAndGroupsFollowTheEvents(t *testing.T) {
	w := newWorld(t)
	p := w.define(1, tells)
	cities := w.byCity(p)
	if _, err := p.Get(w.ctx, order(1)); !errors.Is(err, projection.ErrNotActive) {
		t.Errorf("get before a version is active: %v, want ErrNotActive", err)
	}
	w.must(p.Start(w.ctx))
	worker := w.worker(p.Folds()...)
	w.append(order(1), "Placed", "Moved:Ulm")
	w.append(order(2), "Placed", "Moved:Ulm")
	w.append(eventstore.ID{Type: "cart", ID: "1"}, "Moved:Bonn")
	w.must(worker.Drain(w.ctx))
	w.is("order 1", w.model(p, order(1)), "1Placed 2Moved")
	w.is("none", w.model(p, order(3)), "")
	w.is("cities", w.cities(cities), "Ulm 2")
	w.append(order(1), "Moved:Bonn")
	w.append(order(2), "Sent")
	w.must(worker.Drain(w.ctx))
	w.is("order 1", w.model(p, order(1)), "1Placed 2Moved 3Moved")
	w.is("cities", w.cities(cities), "Bonn 1")
	if c, err := cities.Get(w.ctx, "Ulm"); err != nil || c.State.Open != 0 {
		t.Errorf("Ulm is %+v (%v), want nothing", c, err)
	}
}

func TestOtherDefinitionsAreRejected(t *testing.T) {
	w := newWorld(t)
	for _, d := range []projection.Definition[orderState]{
		{Version: 1, Of: []string{"order"}, Apply: tells},
		{Name: "a#b", Version: 1, Of: []string{"order"}, Apply: tells},
		{Name: "a{b}", Version: 1, Of: []string{"order"}, Apply: tells},
		{Name: strings.Repeat("x", 65), Version: 1, Of: []string{"order"}, Apply: tells},
		{Name: "a", Of: []string{"order"}, Apply: tells},
		{Name: "a", Version: 1, Apply: tells},
		{Name: "a", Version: 1, Of: []string{"order"}},
	} {
		if _, err := projection.Define(w.table, w.store, d, projection.Options{}); !errors.Is(err, projection.ErrDefinition) {
			t.Errorf("%q: %v, want ErrDefinition", d.Name, err)
		}
	}
	if _, err := projection.Define(w.table, w.store, projection.Definition[int]{
		Name: "a", Version: 1, Of: []string{"order"}, Apply: func(*int, *eventstore.Event) error { return nil },
	}, projection.Options{}); err != nil {
		t.Errorf("a read model that is a number: %v", err)
	}
	if _, err := projection.GroupBy(w.define(1, tells), projection.Grouping[orderState, cityTotal]{Name: "x"}); !errors.Is(err, projection.ErrDefinition) {
		t.Errorf("groups of nothing: %v, want ErrDefinition", err)
	}
}

// TestBadEventParksOnlyItsAggregate checks that other aggregates continue, and that the parked
// one continues where it stopped after the fault is fixed.
func TestBadEventParksOnlyItsAggregate(t *testing.T) {
	w := newWorld(t)
	p := w.define(1, tells)
	w.must(p.Start(w.ctx))
	worker := w.worker(p.Folds()...)
	w.append(order(1), "Placed", "Bad", "Paid")
	w.append(order(2), "Placed")
	w.append(order(3), "Panic")
	w.must(worker.Drain(w.ctx))
	w.append(order(1), "Sent")
	w.append(order(2), "Sent")
	w.must(worker.Drain(w.ctx))
	w.is("order 1", w.model(p, order(1)), "1Placed")
	w.is("order 2", w.model(p, order(2)), "1Placed 2Sent")
	parked, err := p.Parked(w.ctx)
	w.must(err)
	if len(parked) != 2 {
		t.Fatalf("parked are %+v, want 2", parked)
	}
	for _, a := range parked {
		want := projection.Parked{ID: order(1), Applied: 1, Version: 4}
		if a.ID == order(3) {
			want = projection.Parked{ID: order(3), Version: 1}
		}
		if a.ID != want.ID || a.Applied != want.Applied || a.Version != want.Version || !strings.Contains(a.Reason, "event") {
			t.Errorf("parked is %+v, want %+v with a reason", a, want)
		}
	}
	if _, err := p.WaitFor(w.ctx, order(1), 2); !errors.Is(err, projection.ErrParked) || !strings.Contains(err.Error(), errBad.Error()) {
		t.Errorf("wait: %v, want ErrParked", err)
	}
	still, err := p.Retry(w.ctx)
	w.must(err)
	if len(still) != 2 {
		t.Errorf("%d are parked after they were tried in vain, want 2", len(still))
	}
	mended := w.define(1, func(m *orderState, e *eventstore.Event) error {
		if e.EventType == "Bad" {
			return nil
		}
		return tells(m, e)
	})
	if still, err = mended.Retry(w.ctx); err != nil || len(still) != 1 || still[0].ID != order(3) {
		t.Errorf("parked still are %+v (%v), want order 3", still, err)
	}
	w.is("order 1", w.model(p, order(1)), "1Placed 3Paid 4Sent")
	if parked, err = mended.Parked(w.ctx); err != nil || len(parked) != 1 {
		t.Errorf("parked are %+v (%v), want one", parked, err)
	}
}

func TestWaitFor(t *testing.T) {
	w := newWorld(t)
	p := w.define(1, tells)
	w.must(p.Start(w.ctx))
	worker := w.worker(p.Folds()...)
	c := w.append(order(1), "Placed", "Paid")
	begin := w.now()
	if _, err := p.WaitFor(w.ctx, order(1), c.Version); !errors.Is(err, projection.ErrBehind) {
		t.Errorf("wait without a worker: %v, want ErrBehind", err)
	}
	if waited := w.now().Sub(begin); waited < 5*time.Second || waited > 6*time.Second {
		t.Errorf("waited %s, want 5 s", waited)
	}
	looks := 0
	late, err := projection.Define(w.table, w.store, projection.Definition[orderState]{Name: "orders", Version: 1, Of: []string{"order"}, Apply: tells},
		projection.Options{Sleep: func(ctx context.Context, _ time.Duration) error {
			if looks++; looks == 3 {
				return worker.Drain(ctx)
			}
			return nil
		}})
	w.must(err)
	m, err := late.WaitFor(w.ctx, order(1), c.Version)
	w.must(err)
	w.is("read after it was written", m.State.Story, "1Placed 2Paid ")
	ctx, cancel := context.WithCancel(w.ctx)
	cancel()
	if _, err := p.WaitFor(ctx, order(1), 9); !errors.Is(err, context.Canceled) {
		t.Errorf("wait in an ended context: %v", err)
	}
}

// TestGapIsReadFromTable loses records: the next event of an aggregate catches up on
// all of them, and so does Rebuild.
func TestGapIsReadFromTable(t *testing.T) {
	w := newWorld(t)
	p := w.define(1, tells)
	w.must(p.Start(w.ctx))
	w.append(order(1), "Placed", "Paid")
	w.append(order(2), "Placed")
	w.db.Advance(30 * time.Hour)
	w.append(order(1), "Sent")
	worker := w.worker(p.Folds()...)
	w.must(worker.Drain(w.ctx))
	w.is("order 1", w.model(p, order(1)), "1Placed 2Paid 3Sent")
	w.is("order 2", w.model(p, order(2)), "")
	_, err := p.Rebuild(w.ctx, projection.RebuildOptions{CaughtUp: worker.Drain})
	w.must(err)
	w.is("order 2", w.model(p, order(2)), "1Placed")
}

// TestMissingEventParksAggregate deletes an event without the store's knowledge.
func TestMissingEventParksAggregate(t *testing.T) {
	w := newWorld(t)
	p := w.define(1, tells)
	w.must(p.Start(w.ctx))
	w.append(order(1), "Placed", "Paid", "Sent")
	w.append(order(2), "Placed")
	eventstoretest.Remove(w, w.table, order(1), 2)
	w.db.Advance(30 * time.Hour)
	w.append(order(1), "Back")
	w.append(order(2), "Sent")
	w.must(w.worker(p.Folds()...).Drain(w.ctx))
	w.is("order 2", w.model(p, order(2)), "1Placed 2Sent")
	parked, err := p.Parked(w.ctx)
	w.must(err)
	if len(parked) != 1 || parked[0].ID != order(1) || parked[0].Applied != 1 {
		t.Errorf("parked is %+v, want order 1 after event 1", parked)
	}
}

// TestSeveralVersionsSideBySide keeps two versions up to date, of which the first is active.
func TestSeveralVersionsSideBySide(t *testing.T) {
	w := newWorld(t)
	one, two := w.define(1, tells), w.define(2, tells)
	w.must(one.Start(w.ctx))
	w.must(two.Start(w.ctx)) // version 1 stays active
	if s, err := two.ActiveVersion(w.ctx); err != nil || s.Version != 1 {
		t.Errorf("served is %+v (%v), want version 1", s, err)
	}
	var folds []*fold.Fold
	folds = append(folds, one.Folds()...)
	folds = append(folds, two.Folds()...)
	worker := w.worker(folds...)
	w.append(order(1), "Placed")
	w.must(worker.Drain(w.ctx))
	w.is("served", w.model(two, order(1)), "1Placed")
}

func TestStatus(t *testing.T) {
	w := newWorld(t)
	p := w.define(1, tells)
	is := func(active, parked, behind int, head int64) {
		t.Helper()
		s, err := p.Status(w.ctx)
		w.must(err)
		if s.Active.Version != active || len(s.Parked) != parked || s.Behind != behind || s.Head != head || len(s.Rebuilds) != 0 {
			t.Errorf("the status is %+v, want version %d served, %d parked, %d behind of %d", s, active, parked, behind, head)
		}
	}
	is(0, 0, 0, 0)
	w.must(p.Start(w.ctx))
	w.append(order(1), "Placed", "Paid")
	w.append(order(2), "Bad")
	w.append(eventstore.ID{Type: "cart", ID: "1"}, "Filled")
	w.feed()
	is(1, 0, 2, 3)
	_, err := p.Rebuild(w.ctx, projection.RebuildOptions{}) // needed because its fold is younger than the appends
	w.must(err)
	is(1, 1, 1, 3)
}
