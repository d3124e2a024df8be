package orders

import (
	"context"
	"time"

	"github.com/onefold/onefold/table"
)

// The loads are those of a shop with 1,000 orders per hour, of three items each.

// GetOrder reads an order.
var GetOrder = table.NewGet[OrderKey](Orders, table.GetDef{
	ID: "O1", Question: "an order", Load: table.Load{PerSecond: 1, Items: 1, ItemBytes: 250},
})

// ItemsOf reads the items of an order.
var ItemsOf = table.NewQuery(Items, table.QueryDef[OrderKey]{
	ID: "O2", Question: "the items of an order", Load: table.Load{PerSecond: 1, Items: 3, ItemBytes: 150},
})

// OrdersOf reads the orders of a customer.
var OrdersOf = table.NewQuery(PlacedOrders, table.QueryDef[CustomerKey]{
	ID: "O3", Question: "the orders of a customer, latest ID first", Desc: true, Load: table.Load{PerSecond: 0.5, Items: 10, ItemBytes: 180},
})

// GetCustomer reads a customer.
var GetCustomer = table.NewGet[CustomerKey](Customers, table.GetDef{
	ID: "O4", Question: "a customer", Load: table.Load{PerSecond: 2, Items: 1, ItemBytes: 200},
})

// HistoryOf reads the status changes of an order, ordered by time.
var HistoryOf = table.NewQuery(Changes, table.QueryDef[OrderKey]{
	ID: "O5", Question: "the status history of an order", Load: table.Load{PerSecond: 0.5, Items: 4, ItemBytes: 150},
})

// StatusIn selects a status, and the time [From, To) of the orders. A zero end is open.
type StatusIn struct {
	Status Status    `dynamodbav:"status"`
	From   time.Time `dynamodbav:"from"`
	To     time.Time `dynamodbav:"to"`
}

// OrdersIn reads the open orders in a status. It queries every shard of the index, and merges the
// results by time.
var OrdersIn = table.NewQuery(Orders, table.QueryDef[StatusIn]{
	ID: "O6", Question: "the open orders with a status, newest first", Index: "gsi1", PK: "STATUS#{status}[#{shard}]",
	From: "ORDER#{from:ms}", To: "ORDER#{to:ms}", Desc: true,
	FanOut: "shard", Over: func(StatusIn) []int { return table.Shards(StatusShards).Over(time.Time{}, time.Time{}) },
	Load: table.Load{PerSecond: 0.1, Items: 50, ItemBytes: 250},
})

// TierIn selects a tier of customers.
type TierIn struct {
	Tier string `dynamodbav:"tier"`
}

// CustomersIn reads the customers of a tier, by name.
var CustomersIn = table.NewQuery(Customers, table.QueryDef[TierIn]{
	ID: "O7", Question: "the customers of a tier, by name", Index: "gsi1", Load: table.Load{PerSecond: 0.01, Items: 100, ItemBytes: 200},
})

// CategoryIn selects a category of products.
type CategoryIn struct {
	Category string `dynamodbav:"category"`
}

// ProductsIn reads the products of a category, by name.
var ProductsIn = table.NewQuery(Products, table.QueryDef[CategoryIn]{
	ID: "O8", Question: "the products of a category, by name", Index: "gsi1", Load: table.Load{PerSecond: 5, Items: 50, ItemBytes: 200},
})

// PlaceOrder documents Place.
var PlaceOrder = table.NewOperation(Orders, table.OperationDef{
	ID: "O9", Question: "place an order with its items", Operation: "TransactWriteItems",
	Condition: "customer: there; order, items, change and the customer's copy: absent",
	Load:      table.Load{PerSecond: 0.28, Items: 7, ItemBytes: 250},
	Example: func(ctx context.Context, t *table.Table) error {
		return Place(ctx, t, &Order{OrderKey: OrderKey{"1003"}, CustomerID: "42", PlacedAt: t.Now()},
			Item{ItemKey{ProductID: "rake"}, "Rake", 2, 19_90}, Item{ItemKey{ProductID: "kettle"}, "Kettle", 1, 34_50})
	},
})

// MoveOrder documents Move.
var MoveOrder = table.NewOperation(Orders, table.OperationDef{
	ID: "O10", Question: "change the status of an order", Operation: "TransactWriteItems",
	Condition: "order: in the status that was read; change: absent",
	Load:      table.Load{PerSecond: 0.84, Items: 3, ItemBytes: 250},
	Example: func(ctx context.Context, t *table.Table) error {
		return Move(ctx, t, OrderKey{"1001"}, Paid, "by card")
	},
})

// Schema is the schema of the table: entities and access patterns.
var Schema = table.MustSchema("orders",
	GetOrder, ItemsOf, OrdersOf, GetCustomer, HistoryOf, OrdersIn, CustomersIn, ProductsIn, PlaceOrder, MoveOrder)
