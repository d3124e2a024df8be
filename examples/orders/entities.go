package orders

import (
	"time"

	"github.com/onefold/onefold/table"
)

// Cents is money, in hundredths: sums of binary fractions are not what the customer pays.
type Cents int64

// CustomerKey names a customer.
type CustomerKey struct {
	CustomerID string `dynamodbav:"customerId"`
}

// Customer is who orders.
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
	Doc:     "who orders",
	Example: func(c *Customer) { c.Tier = "gold" },
})

// ProductKey names a product.
type ProductKey struct {
	ProductID string `dynamodbav:"productId"`
}

// Product is what can be ordered.
type Product struct {
	ProductKey
	Name     string `dynamodbav:"name"`
	Category string `dynamodbav:"category"`
	Price    Cents  `dynamodbav:"price"`
}

// Products are on the index by their category.
var Products = table.Define[Product, ProductKey]("orders.product", table.Def[Product]{
	PK: "PRODUCT#{productId}", SK: "PRODUCT#{productId}",
	Indexes: []table.Index[Product]{{Name: "gsi1", PK: "CATEGORY#{category}", SK: "PRODUCT#{name}"}},
	Doc:     "what can be ordered",
	Example: func(p *Product) { p.Name = map[string]string{"garden": "Rake", "kitchen": "Kettle"}[p.Category] },
})

// OrderKey names an order.
type OrderKey struct {
	OrderID string `dynamodbav:"orderId"`
}

// Status is how far an order has come.
type Status string

// The statuses of an order.
const (
	Pending   Status = "pending"
	Paid      Status = "paid"
	Shipped   Status = "shipped"
	Delivered Status = "delivered"
	Cancelled Status = "cancelled"
)

// Order is what a customer wants.
type Order struct {
	OrderKey
	CustomerID string    `dynamodbav:"customerId"`
	Status     Status    `dynamodbav:"status"`
	Total      Cents     `dynamodbav:"total"`
	PlacedAt   time.Time `dynamodbav:"placedAt"`
	Shard      int       `dynamodbav:"shard,omitempty"` // of its status on the index, from its id
}

// StatusShards is how many partitions of the index a status is spread over: a partition takes 1,000 writes a second, and
// every order of the shop begins as pending. It may be raised, since an order keeps its shard, and never lowered.
const StatusShards = 4

// Open reports whether there is still something to do.
func (s Status) Open() bool { return s != Delivered && s != Cancelled }

// Orders are on the index by their status while they are open: a list of all that was ever delivered would only grow.
var Orders = table.Define[Order, OrderKey]("orders.order", table.Def[Order]{
	PK: "ORDER#{orderId}", SK: "ORDER#{orderId}",
	Indexes: []table.Index[Order]{{
		Name: "gsi1", PK: "STATUS#{status}[#{shard}]", SK: "ORDER#{placedAt:ms}#{orderId}",
		When: func(o *Order) bool { return o.Status.Open() }, WhenReads: []string{"status"},
	}},
	Doc:     "what a customer wants",
	Example: func(o *Order) { o.CustomerID, o.Status, o.Shard = "42", Pending, table.Shard(o.OrderID, StatusShards) },
})

var (
	orderStatus = table.FieldOf(Orders, func(o *Order) *Status { return &o.Status })
	orderPlaced = table.FieldOf(Orders, func(o *Order) *time.Time { return &o.PlacedAt })
	orderShard  = table.FieldOf(Orders, func(o *Order) *int { return &o.Shard })
)

// ItemKey names an item of an order.
type ItemKey struct {
	OrderID   string `dynamodbav:"orderId"`
	ProductID string `dynamodbav:"productId"`
}

// Item is how much of a product an order has, at the price of that day.
type Item struct {
	ItemKey
	Name     string `dynamodbav:"name"`
	Quantity int    `dynamodbav:"quantity"`
	Price    Cents  `dynamodbav:"price"` // of one
}

// Items stand beside their order.
var Items = table.Define[Item, ItemKey]("orders.item", table.Def[Item]{
	PK: "ORDER#{orderId}", SK: "ITEM#{productId}", Immutable: true,
	Doc:     "how much of a product an order has, at the price of that day",
	Example: func(i *Item) { i.Name = "Rake" },
})

// ChangeKey names a change of an order's status.
type ChangeKey struct {
	OrderID string    `dynamodbav:"orderId"`
	At      time.Time `dynamodbav:"at"`
	Status  Status    `dynamodbav:"status"`
}

// Change is that an order reached a status.
type Change struct {
	ChangeKey
	Note string `dynamodbav:"note,omitempty"` // such as the carrier's number
}

// Changes stand beside their order, in the order of time.
var Changes = table.Define[Change, ChangeKey]("orders.change", table.Def[Change]{
	PK: "ORDER#{orderId}", SK: "STATUS#{at:ms}#{status}", Immutable: true,
	Doc:     "that an order reached a status",
	Example: func(c *Change) { c.Status = Pending },
})

// PlacedKey names an order of a customer.
type PlacedKey struct {
	CustomerID string `dynamodbav:"customerId"`
	OrderID    string `dynamodbav:"orderId"`
}

// Placed is what a customer's list shows of an order: a copy, written in the transactions that write the order.
type Placed struct {
	PlacedKey
	Status   Status    `dynamodbav:"status"`
	Total    Cents     `dynamodbav:"total"`
	PlacedAt time.Time `dynamodbav:"placedAt"`
}

// PlacedOrders stand beside their customer.
var PlacedOrders = table.Define[Placed, PlacedKey]("orders.placed", table.Def[Placed]{
	PK: "CUSTOMER#{customerId}", SK: "ORDER#{orderId}",
	Doc:     "what a customer's list shows of an order",
	Example: func(p *Placed) { p.Status = Pending },
})

var placedStatus = table.FieldOf(PlacedOrders, func(p *Placed) *Status { return &p.Status })
