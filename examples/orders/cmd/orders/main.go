// Command orders demonstrates the shop: two customers place orders, the orders change status, and
// every access pattern is run. It keeps everything in memory, and has no options.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/examples/internal/printer"
	"github.com/onefold/onefold/examples/orders"
	"github.com/onefold/onefold/table"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "orders:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer) error {
	db, err := engine.OpenMemory(engine.Options{}) // or a *dynamodb.Client
	if err != nil {
		return err
	}
	defer db.Close() //nolint:errcheck // nothing is kept
	if err := orders.Schema.Ensure(ctx, db, "shop"); err != nil {
		return err
	}
	t := table.New(db, "shop", table.Options{Clock: printer.Clock()})
	if err := trade(ctx, t); err != nil {
		return err
	}
	return ask(ctx, out, t)
}

// trade places and changes orders.
func trade(ctx context.Context, t *table.Table) error {
	for _, c := range []orders.Customer{
		{CustomerKey: orders.CustomerKey{CustomerID: "42"}, Name: "Ada", Email: "ada@example.com", Tier: "gold"},
		{CustomerKey: orders.CustomerKey{CustomerID: "43"}, Name: "Grace", Email: "grace@example.com"},
	} {
		if err := orders.Customers.Create(ctx, t, &c); err != nil {
			return err
		}
	}
	products := []orders.Product{
		{ProductKey: orders.ProductKey{ProductID: "rake"}, Name: "Rake", Category: "garden", Price: 19_90},
		{ProductKey: orders.ProductKey{ProductID: "hose"}, Name: "Hose", Category: "garden", Price: 24_00},
		{ProductKey: orders.ProductKey{ProductID: "kettle"}, Name: "Kettle", Category: "kitchen", Price: 34_50},
	}
	item := func(i, n int) orders.Item {
		p := products[i]
		return orders.Item{ItemKey: orders.ItemKey{ProductID: p.ProductID}, Name: p.Name, Quantity: n, Price: p.Price}
	}
	for i := range products {
		if err := orders.Products.Create(ctx, t, &products[i]); err != nil {
			return err
		}
	}
	for _, o := range []struct {
		id, customer string
		items        []orders.Item
	}{{"1001", "42", []orders.Item{item(0, 2), item(2, 1)}}, {"1002", "43", []orders.Item{item(1, 1)}}, {"1003", "42", []orders.Item{item(1, 3)}}} {
		order := orders.Order{OrderKey: orders.OrderKey{OrderID: o.id}, CustomerID: o.customer, PlacedAt: t.Now()}
		if err := orders.Place(ctx, t, &order, o.items...); err != nil {
			return err
		}
	}
	if err := orders.Move(ctx, t, orders.OrderKey{OrderID: "1001"}, orders.Paid, "by card"); err != nil {
		return err
	}
	return orders.Move(ctx, t, orders.OrderKey{OrderID: "1001"}, orders.Shipped, "parcel 7F3K")
}

// ask runs every access pattern.
func ask(ctx context.Context, out io.Writer, t *table.Table) error {
	tt := &printer.Printer{Out: out}
	order, customer := orders.OrderKey{OrderID: "1001"}, orders.CustomerKey{CustomerID: "42"}
	o, err := orders.GetOrder.Get(ctx, t, order)
	printer.One(tt, "O1 order 1001", o, err, func(o orders.Order) string {
		return fmt.Sprintf("%s, %s, of customer %s", o.Status, money(o.Total), o.CustomerID)
	})
	printer.All(tt, "O2 its items", orders.ItemsOf.All(ctx, t, order), func(i orders.Item) string {
		return fmt.Sprintf("%d × %s at %s", i.Quantity, i.Name, money(i.Price))
	})
	printer.All(tt, "O3 orders of customer 42", orders.OrdersOf.All(ctx, t, customer), func(p orders.Placed) string {
		return fmt.Sprintf("%s, %s, %s", p.OrderID, p.Status, money(p.Total))
	})
	c, err := orders.GetCustomer.Get(ctx, t, customer)
	printer.One(tt, "O4 customer 42", c, err, func(c orders.Customer) string { return c.Name + ", " + c.Tier })
	printer.All(tt, "O5 history of order 1001", orders.HistoryOf.All(ctx, t, order), func(c orders.Change) string {
		return strings.TrimSpace(fmt.Sprintf("%s %s %s", c.At.Format(time.TimeOnly), c.Status, c.Note))
	})
	printer.All(tt, "O6 pending orders", orders.OrdersIn.All(ctx, t, orders.StatusIn{Status: orders.Pending}), func(o orders.Order) string {
		return fmt.Sprintf("%s of %s", o.OrderID, o.PlacedAt.Format(time.TimeOnly))
	})
	printer.All(tt, "O7 gold customers", orders.CustomersIn.All(ctx, t, orders.TierIn{Tier: "gold"}), func(c orders.Customer) string {
		return c.Name
	})
	printer.All(tt, "O8 garden products", orders.ProductsIn.All(ctx, t, orders.CategoryIn{Category: "garden"}), func(p orders.Product) string {
		return fmt.Sprintf("%s at %s", p.Name, money(p.Price))
	})
	return tt.Err
}

func money(c orders.Cents) string { return fmt.Sprintf("%d.%02d", c/100, c%100) }
