package eventstore_test

import (
	"slices"
	"testing"
	"time"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/fold/foldtest"
	"github.com/onefold/onefold/table"
)

// The totals of aggregate types match their heads, whatever happened to them.
func TestTypes(t *testing.T) {
	at := time.Date(2026, 5, 12, 14, 0, 0, 0, time.UTC)
	w := foldtest.NewWorld(t, foldtest.Setup{Schema: eventstore.Schema, Group: "test", At: at, Folds: func(*table.Table) []*fold.Fold { return eventstore.Folds() }})
	s, err := eventstore.New(w.Table, eventstore.Options{})
	w.Must(err)
	for _, id := range []eventstore.ID{order("1"), order("2"), order("3"), {Type: "customer", ID: "1"}, order("1")} {
		w.Advance(time.Minute)
		_, err := s.Append(w.Ctx, id, eventstore.Any(), said("A", "B"))
		w.Must(err)
	}
	w.Must(s.Close(w.Ctx, order("2")))
	w.Must(s.Close(w.Ctx, order("3")))
	w.Drain()
	w.Must(s.Delete(w.Ctx, order("3")))
	w.Drain()
	have, err := s.ListTypes(w.Ctx)
	w.Must(err)
	want := []eventstore.TypeCounts{
		{TypeKey: eventstore.TypeKey{Type: "customer"}, Aggregates: 1, Events: 2, LastAt: at.Add(4 * time.Minute)},
		{TypeKey: eventstore.TypeKey{Type: "order"}, Aggregates: 3, Closed: 1, Deleted: 1, Events: 8, LastAt: at.Add(5 * time.Minute)},
	}
	if !slices.Equal(have, want) {
		t.Errorf("types: %+v\nwant %+v", have, want)
	}
}
