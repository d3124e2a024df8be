package orders

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/onefold/onefold/table"
)

var (
	// ErrPlaced is returned by Place if the order ID is in use, by an attempt whose response was
	// lost or by another order.
	ErrPlaced = errors.New("orders: the order already exists")
	// ErrNoCustomer is returned by Place if the customer does not exist.
	ErrNoCustomer = errors.New("orders: there is no such customer")
	// ErrItems is returned by Place for an order without items, or with invalid items.
	ErrItems = errors.New("orders: an order must have 1 to 96 items, each with a quantity of 1 to 999 and a price of 0 to 10,000,000.00")
	// ErrMove is returned by Move if the order's status, which may have changed meanwhile, does not
	// allow the change.
	ErrMove = errors.New("orders: the status cannot be changed in this way")
)

// Limits of an order. maxItems is what remains of the 100 operations of a transaction besides the
// order, its change, its copy and the customer.
const (
	maxItems    = 96
	maxQuantity = 999
	maxPrice    = Cents(10_000_000_00)
)

// Place stores a new order with its items in one transaction. It sets the order's status, total and
// shard, and the order of the items. Errors: ErrPlaced, ErrNoCustomer, ErrItems.
func Place(ctx context.Context, t *table.Table, o *Order, items ...Item) error {
	if len(items) == 0 || len(items) > maxItems {
		return ErrItems
	}
	o.Status, o.Total, o.Shard = Pending, 0, table.Shard(o.OrderID, StatusShards)
	tx := table.NewTx(t, "")
	for i := range items {
		items[i].OrderID = o.OrderID
		if n, price := items[i].Quantity, items[i].Price; n < 1 || n > maxQuantity || price < 0 || price > maxPrice {
			return ErrItems
		}
		o.Total += Cents(items[i].Quantity) * items[i].Price
	}
	Orders.TxCreate(tx, o)
	for i := range items {
		Items.TxCreate(tx, &items[i])
	}
	Changes.TxCreate(tx, &Change{ChangeKey: ChangeKey{o.OrderID, o.PlacedAt, o.Status}})
	PlacedOrders.TxCreate(tx, &Placed{PlacedKey{o.CustomerID, o.OrderID}, o.Status, o.Total, o.PlacedAt})
	Customers.TxCheck(tx, CustomerKey{o.CustomerID}, table.Present())
	err := tx.Commit(ctx)
	switch {
	case errors.Is(err, table.ErrExists):
		err = fmt.Errorf("%w: %s", ErrPlaced, o.OrderID)
	case errors.Is(err, table.ErrCondition):
		err = fmt.Errorf("%w: %s", ErrNoCustomer, o.CustomerID)
	}
	return err
}

// next are the statuses that may follow a status.
var next = map[Status][]Status{
	Pending: {Paid, Cancelled},
	Paid:    {Shipped, Cancelled},
	Shipped: {Delivered},
}

// Move changes the status of an order and records the time, in one transaction with the customer's
// copy. If the order already has the status, nothing changes, so a Move whose response was lost can
// be repeated. Errors: table.ErrNotFound; ErrMove, also if the order changes between Move's read
// and write.
func Move(ctx context.Context, t *table.Table, k OrderKey, to Status, note string) error {
	o, err := GetOrder.Get(ctx, t, k)
	if err != nil || o.Status == to {
		return err
	}
	if !slices.Contains(next[o.Status], to) {
		return fmt.Errorf("%w: %s is %s and cannot be %s", ErrMove, o.OrderID, o.Status, to)
	}
	tx := table.NewTx(t, "")
	// The index key consists of status, time and shard, so a patch of one of them must set all.
	Orders.TxPatch(tx, k, orderStatus.Set(to), orderPlaced.Set(o.PlacedAt), orderShard.Set(o.Shard), table.If[Order](orderStatus.Eq(o.Status)))
	PlacedOrders.TxPatch(tx, PlacedKey{o.CustomerID, o.OrderID}, placedStatus.Set(to))
	Changes.TxCreate(tx, &Change{ChangeKey{o.OrderID, t.Now(), to}, note})
	if err = tx.Commit(ctx); errors.Is(err, table.ErrCondition) {
		err = fmt.Errorf("%w: the status of %s was changed concurrently", ErrMove, o.OrderID)
	}
	return err
}
