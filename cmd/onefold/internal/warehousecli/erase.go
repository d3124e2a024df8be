package warehousecli

import (
	"context"
	"time"

	"github.com/onefold/onefold/analytics/erasure"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/warehouse"
)

// announceEvery is the interval at which a table records that it has a warehouse.
const announceEvery = 24 * time.Hour

// rewriteErased returns a function that removes from the warehouse the people whose erasures completed in
// the table before a time. If interrupted, it removes them again.
func rewriteErased(t *table.Table) func(context.Context, *warehouse.Warehouse, time.Time) error {
	var announced time.Time
	return func(ctx context.Context, w *warehouse.Warehouse, before time.Time) error {
		if now := t.Now(); now.Sub(announced) >= announceEvery {
			if err := erasure.Announce(ctx, t); err != nil {
				return err
			}
			announced = now
		}
		for r, err := range erasure.Waiting(ctx, t, before) {
			if err != nil {
				return err
			}
			rows, err := w.ErasePerson(ctx, r.SiteID, warehouse.Person{UserID: r.Pending.UserID, Visitors: r.Pending.Visitors})
			if err == nil {
				err = erasure.Forgotten(ctx, t, r.ReceiptKey, rows)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
}
