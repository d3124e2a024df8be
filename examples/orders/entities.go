package orders

import (
	"time"

	"github.com/onefold/onefold/table"
)

// Cents is an amount of money in hundredths, because sums of binary fractions are inexact.
type Cents int64

// CustomerKey is the key of a customer.
type CustomerKey struct {
	CustomerID string `dynamodbav:"customerId"`
}

// Customer is a customer.
type Customer struct {
	CustomerKey
	Name  string `dynamodbav:"name"`
	Email string `dynamodbav:"email"`
	Tier  string `dynamodbav:"tier,omitempty"` // such as gold; empty: none
}

// Customers are on the index while they have a tier.
var Customers = table.Define[Customer, CustomerKey]("orders.customer", table.Def[Customer]{
	PK: "CUSTOMER#{customerId}", SK: "CUSTOMER#{customerId}",
	Indexes: []table.Index[Customer]{{Name: "gsi1", PK: "TIER#{tier}", SK: "CUSTOMER#{name}"}},
	Doc:     "a customer",
	Example: func(c *Customer) { c.Tier = "gold" },
})

// ProductKey is the key of a product.
type ProductKey struct {
	ProductID string `dynamodbav:"productId"`
}

// Product is a product of the shop.
type Product struct {
	ProductKey
	Name     string `dynamodbav:"name"`
	Category string `dynamodbav:"category"`
	Price    Cents  `dynamodbav:"price"`
}

// Products are on the index by category.
var Products = table.Define[Product, ProductKey]("orders.product", table.Def[Product]{
	PK: "PRODUCT#{productId}", SK: "PRODUCT#{productId}",
	Indexes: []table.Index[Product]{{Name: "gsi1", PK: "CATEGORY#{category}", SK: "PRODUCT#{name}"}},
	Doc:     "a product",
	Example: func(p *Product) { p.Name = map[string]string{"garden": "Rake", "kitchen": "Kettle"}[p.Category] },
})

// OrderKey is the key of an order.
type OrderKey struct {
	OrderID string `dynamodbav:"orderId"`
}

// Status is the status of an order.
type Status string

// The statuses of an order.
const (
	Pending   Status = "pending"
	Paid      Status = "paid"
	Shipped   Status = "shipped"
	Delivered Status = "delivered"
	Cancelled Status = "cancelled"
)

// Order is an order of a customer.
type Order struct {
	OrderKey
	CustomerID string    `dynamodbav:"customerId"`
	Status     Status    `dynamodbav:"status"`
	Total      Cents     `dynamodbav:"total"`
	PlacedAt   time.Time `dynamodbav:"placedAt"`
	Shard      int       `dynamodbav:"shard,omitempty"` // of its status on the index, derived from its ID
}

// StatusShards is the number of index partitions per status. A partition takes 1,000 writes per
// second, and every order starts as pending. The number may be raised, because an order keeps its
// shard, but never lowered.
const StatusShards = 4

// Open reports whether the order still needs work.
func (s Status) Open() bool { return s != Delivered && s != Cancelled }

// Orders are on the index by status while they are open. A list of delivered orders would only
// grow.
var Orders = table.Define[Order, OrderKey]("orders.order", table.Def[Order]{
	PK: "ORDER#{orderId}", SK: "ORDER#{orderId}",
	Indexes: []table.Index[Order]{{
		Name: "gsi1", PK: "STATUS#{status}[#{shard}]", SK: "ORDER#{placedAt:ms}#{orderId}",
		When: func(o *Order) bool { return o.Status.Open() }, WhenReads: []string{"status"},
	}},
	Doc:     "an order of a customer, with its status and total",
	Example: func(o *Order) { o.CustomerID, o.Status, o.Shard = "42", Pending, table.Shard(o.OrderID, StatusShards) },
})

var (
	orderStatus = table.FieldOf(Orders, func(o *Order) *Status { return &o.Status })
	orderPlaced = table.FieldOf(Orders, func(o *Order) *time.Time { return &o.PlacedAt })
	orderShard  = table.FieldOf(Orders, func(o *Order) *int { return &o.Shard })
)

// ItemKey is the key of an order's item.
type ItemKey struct {
	OrderID   string `dynamodbav:"orderId"`
	ProductID string `dynamodbav:"productId"`
}

// Item is the quantity of a product in an order, with its price at that time.
type Item struct {
	ItemKey
	Name     string `dynamodbav:"name"`
	Quantity int    `dynamodbav:"quantity"`
	Price    Cents  `dynamodbav:"price"` // per piece
}

// Items are in the partition of their order.
var Items = table.Define[Item, ItemKey]("orders.item", table.Def[Item]{
	PK: "ORDER#{orderId}", SK: "ITEM#{productId}", Immutable: true,
	Doc:     "a line of an order: a product, its quantity and the price when it was ordered",
	Example: func(i *Item) { i.Name = "Rake" },
})

// ChangeKey is the key of a status change.
type ChangeKey struct {
	OrderID string    `dynamodbav:"orderId"`
	At      time.Time `dynamodbav:"at"`
	Status  Status    `dynamodbav:"status"`
}

// Change records that an order reached a status.
type Change struct {
	ChangeKey
	Note string `dynamodbav:"note,omitempty"` // such as a tracking number
}

// Changes are in the partition of their order, ordered by time.
var Changes = table.Define[Change, ChangeKey]("orders.change", table.Def[Change]{
	PK: "ORDER#{orderId}", SK: "STATUS#{at:ms}#{status}", Immutable: true,
	Doc:     "a change of an order's status",
	Example: func(c *Change) { c.Status = Pending },
})

// PlacedKey is the key of an order in a customer's list.
type PlacedKey struct {
	CustomerID string `dynamodbav:"customerId"`
	OrderID    string `dynamodbav:"orderId"`
}

// Placed is the copy of an order in a customer's list. The transactions that write the order write
// the copy too.
type Placed struct {
	PlacedKey
	Status   Status    `dynamodbav:"status"`
	Total    Cents     `dynamodbav:"total"`
	PlacedAt time.Time `dynamodbav:"placedAt"`
}

// PlacedOrders are in the partition of their customer.
var PlacedOrders = table.Define[Placed, PlacedKey]("orders.placed", table.Def[Placed]{
	PK: "CUSTOMER#{customerId}", SK: "ORDER#{orderId}",
	Doc:     "a copy of an order for the customer's list of orders",
	Example: func(p *Placed) { p.Status = Pending },
})

var placedStatus = table.FieldOf(PlacedOrders, func(p *Placed) *Status { return &p.Status })
