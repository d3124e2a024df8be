package fsck_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/fsck"
	"github.com/onefold/onefold/eventstore/projection"
)

// paid counts how often an order was paid.
type paid struct {
	Times int      `dynamodbav:"times" json:"times"`
	Seen  []string `dynamodbav:"seen,omitempty" json:"seen,omitempty"`
}

// Read models that do not match their events are found and rebuilt correctly. Models that only lag
// behind are not wrong.
func TestModels(t *testing.T) {
	w := newWorld(t, eventstore.Options{}, asIs)
	p, err := projection.Define(w.table, w.store, projection.Definition[paid]{Name: "paid", Version: 1, Of: []string{"order"}, Apply: func(m *paid, e *eventstore.Event) error {
		if e.EventType == "Paid" {
			m.Times++
		}
		m.Seen = append(m.Seen, e.EventType)
		return nil
	}}, projection.Options{})
	w.must(err)
	for n := range 3 {
		w.must(p.Remake(w.ctx, orderID(n)))
	}
	models := func() (found []fsck.Finding, compared int64) {
		for f, err := range fsck.Check(w.ctx, w.store, fsck.Options{Models: []fsck.Model{p}, NoIndex: true, Progress: func(at fsck.Progress) { compared = at.Models }}) {
			w.must(err)
			if f.Kind == fsck.ModelWrong {
				found = append(found, f)
			}
		}
		return found, compared
	}
	if found, compared := models(); len(found) != 0 || compared != 4 {
		t.Errorf("%v in %d", found, compared)
	}
	_, err = w.store.Append(w.ctx, orderID(0), eventstore.Any(), []eventstore.NewEvent{{Type: "Paid"}})
	w.must(err)
	wrong, err := p.Models().Get(w.ctx, w.table, projection.ModelKey{ID: orderID(1)})
	w.must(err)
	wrong.State.Times++
	w.must(p.Models().Put(w.ctx, w.table, &wrong))
	ahead, err := p.Models().Get(w.ctx, w.table, projection.ModelKey{ID: orderID(2)})
	w.must(err)
	ahead.Applied += 3
	w.must(p.Models().Put(w.ctx, w.table, &ahead))
	found, _ := models()
	slices.SortFunc(found, func(a, b fsck.Finding) int { return strings.Compare(a.Item, b.Item) })
	if len(found) != 2 || found[0].ID != orderID(1) || found[1].ID != orderID(2) || found[0].Plan == "" ||
		!strings.Contains(found[0].Detail, `"times":5`) || !strings.Contains(found[1].Detail, "it has event 11, but the last event is 8") {
		t.Fatalf("%+v", found)
	}
	for i := range found {
		w.must(found[i].Repair(w.ctx))
	}
	if found, _ := models(); len(found) != 0 {
		t.Errorf("after the repair: %+v", found)
	}
	right, err := p.Models().Get(w.ctx, w.table, projection.ModelKey{ID: orderID(1)})
	w.must(err)
	if right.State.Times != 4 || right.Applied != 8 {
		t.Errorf("%+v", right)
	}
}
