package demo

import (
	"testing"
	"time"

	"github.com/onefold/onefold/engine/enginetest"
	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/table"
)

// The demo's orders include delivered, open and failed ones, recorded at the times of their events,
// and are the same for the same seed.
func TestOrders(t *testing.T) {
	now := time.Date(2026, 5, 12, 14, 0, 0, 0, time.UTC)
	sent := [2]int{}
	for i := range sent {
		db := enginetest.New(t)
		if err := eventstore.Schema.Ensure(t.Context(), db, "demo"); err != nil {
			t.Fatal(err)
		}
		tbl := table.New(db, "demo", table.Options{})
		var err error
		if sent[i], err = NewOrders(1, now).Fill(t.Context(), tbl); err != nil {
			t.Fatal(err)
		}
		store, err := eventstore.New(tbl, eventstore.Options{})
		if err != nil {
			t.Fatal(err)
		}
		events, last := 0, map[string]int{}
		for h, err := range store.HeadsOfType(t.Context(), "order") {
			if err != nil {
				t.Fatal(err)
			}
			last[h.LastTypes[0]]++
			for e, err := range store.Read(t.Context(), h.ID) {
				if events++; err != nil || e.RecordedAt.After(now) || e.RecordedAt.Before(now.AddDate(0, 0, -OrderDays)) {
					t.Fatalf("%+v: %v", e, err)
				}
			}
		}
		if events != sent[i] || last["OrderDelivered"] < 50 || last["OrderCancelled"] == 0 || last["OrderPacked"]+last["OrderPaid"]+last["OrderShipped"] == 0 {
			t.Errorf("%d events of %d sent; the last of orders: %v", events, sent[i], last)
		}
	}
	if sent[0] != sent[1] {
		t.Errorf("%d and %d events of the same seed", sent[0], sent[1])
	}
}
