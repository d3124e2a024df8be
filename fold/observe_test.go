package fold_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/fold/streamsource"
	"github.com/onefold/onefold/table"
)

// TestObserverSeesAllChanges has an observer that returns errors and panics. The worker must deliver
// to it again what it did not handle, and derived items must not suffer.
func TestObserverSeesAllChanges(t *testing.T) {
	b := openEngine(t, engine.Options{})
	tab := b.table()
	told := map[string]int{}
	failures := 2
	act := func(_ context.Context, t *table.Table, ids *[]string) error {
		if t != tab {
			return errors.New("another table")
		}
		for _, id := range *ids {
			told[id]++
		}
		if slices.Contains(*ids, "bad") {
			panic("bad")
		}
		if failures--; failures >= 0 {
			return errors.New("not now")
		}
		return nil
	}
	look := fold.Observe("look", act, fold.On(orders, func(c fold.Typed[order], at func(struct{}) *[]string) error {
		*at(struct{}{}) = append(*at(struct{}{}), c.New.ID)
		return nil
	}))
	o := fold.Options{Sleep: func(context.Context, time.Duration) error { return nil }}
	w := newWorker(t, tab, streamsource.New(b.db, b.arn), o, totalsFold(), look)
	put(t, tab, order{orderKey{"1"}, "r", 1}, order{orderKey{"2"}, "r", 2})
	drain(t, w)
	put(t, tab, order{orderKey{"bad"}, "r", 4})
	drain(t, w)
	put(t, tab, order{orderKey{"3"}, "r", 8})
	drain(t, w)
	if told["1"] != 3 || told["2"] != 3 || told["bad"] != 1 || told["3"] != 1 {
		t.Errorf("told %v, want twice more what failed twice", told)
	}
	if got, err := totals.Get(t.Context(), tab, totalKey{"r"}); err != nil || got.Orders != 4 || got.Amount != 15 {
		t.Errorf("total is %+v (%v), want 4 orders of 15", got, err)
	}
	if dead := deadLetters(t, tab, "look"); len(dead) != 1 || dead[0].ItemPK != "ORDER#bad" {
		t.Errorf("dead letters are %+v, want one of what panicked", dead)
	}
	drain(t, newWorker(t, tab, streamsource.New(b.db, b.arn), o, totalsFold(), look)) // as if in another process
	if told["3"] != 1 {
		t.Error("told again what was done")
	}
}
