package orders_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/onefold/onefold/engine/enginetest"
	"github.com/onefold/onefold/examples/orders"
	"github.com/onefold/onefold/table"
)

// shop is a table with a gold customer.
type shop struct {
	*testing.T
	db    *enginetest.DB
	table *table.Table
}

func open(t *testing.T) shop {
	t.Helper()
	db := enginetest.New(t)
	s := shop{t, db, table.New(db, "shop", table.Options{Clock: db.Now})}
	s.must(orders.Schema.Ensure(t.Context(), db, "shop"))
	s.must(orders.Customers.Create(t.Context(), s.table, &orders.Customer{CustomerKey: orders.CustomerKey{CustomerID: "42"}, Name: "Ada", Tier: "gold"}))
	return s
}

func (s shop) must(err error) {
	if err != nil {
		s.Helper()
		s.Fatal(err)
	}
}

func collect[In, T, K any](s shop, q *table.Query[In, T, K], in In) []T {
	s.Helper()
	found, err := q.Collect(s.Context(), s.table, in)
	s.must(err)
	return found
}

func item(id string, n int, price orders.Cents) orders.Item {
	return orders.Item{ItemKey: orders.ItemKey{ProductID: id}, Name: id, Quantity: n, Price: price}
}

func key(id string) orders.OrderKey { return orders.OrderKey{OrderID: id} }

// place places an order a minute after the previous one.
func (s shop) place(id string, items ...orders.Item) error {
	s.db.Advance(time.Minute)
	return orders.Place(s.Context(), s.table, &orders.Order{OrderKey: key(id), CustomerID: "42", PlacedAt: s.db.Now()}, items...)
}

// An order is stored with its items, its first status and its copy, and is on the index.
func TestPlace(t *testing.T) {
	s := open(t)
	s.must(s.place("1001", item("rake", 2, 19_90), item("kettle", 1, 34_50)))
	o, err := orders.GetOrder.Get(t.Context(), s.table, key("1001"))
	s.must(err)
	if o.Total != 74_30 || o.Status != orders.Pending || o.CustomerID != "42" {
		t.Errorf("the order is %+v", o)
	}
	items := collect(s, orders.ItemsOf, key("1001"))
	if len(items) != 2 || items[0].ProductID != "kettle" || items[1].Quantity != 2 || items[1].OrderID != "1001" {
		t.Errorf("its items are %+v", items)
	}
	placed := collect(s, orders.OrdersOf, orders.CustomerKey{CustomerID: "42"})
	if len(placed) != 1 || placed[0].Total != 74_30 || placed[0].Status != orders.Pending || !placed[0].PlacedAt.Equal(o.PlacedAt) {
		t.Errorf("the customer's list is %+v", placed)
	}
	if h := collect(s, orders.HistoryOf, key("1001")); len(h) != 1 || h[0].Status != orders.Pending {
		t.Errorf("its history is %+v", h)
	}
}

// An invalid order is rejected, and leaves nothing behind.
func TestPlaceRefuses(t *testing.T) {
	s := open(t)
	s.must(s.place("1001", item("rake", 1, 1)))
	many := make([]orders.Item, 97)
	for i := range many {
		many[i] = item(fmt.Sprint("p", i), 1, 1)
	}
	for name, c := range map[string]struct {
		id, customer string
		items        []orders.Item
		want         error
	}{
		"no items":       {"1", "42", nil, orders.ErrItems},
		"too many":       {"1", "42", many, orders.ErrItems},
		"none of it":     {"1", "42", []orders.Item{item("rake", 0, 1)}, orders.ErrItems},
		"too much of it": {"1", "42", []orders.Item{item("rake", 1000, 1)}, orders.ErrItems},
		"a gift":         {"1", "42", []orders.Item{item("rake", 1, -1)}, orders.ErrItems},
		"no customer":    {"1", "7", []orders.Item{item("rake", 1, 1)}, orders.ErrNoCustomer},
		"placed before":  {"1001", "42", []orders.Item{item("hose", 1, 1)}, orders.ErrPlaced},
		"no id":          {"", "42", []orders.Item{item("rake", 1, 1)}, table.ErrKeyEmpty},
		"an odd id":      {"1#2", "42", []orders.Item{item("rake", 1, 1)}, table.ErrKeyValue},
	} {
		t.Run(name, func(t *testing.T) {
			err := orders.Place(t.Context(), s.table, &orders.Order{OrderKey: key(c.id), CustomerID: c.customer, PlacedAt: s.db.Now()}, c.items...)
			if !errors.Is(err, c.want) {
				t.Errorf("error %v, want %v", err, c.want)
			}
		})
	}
	twice := orders.Place(t.Context(), s.table, &orders.Order{OrderKey: key("1"), CustomerID: "42", PlacedAt: s.db.Now()}, item("rake", 1, 1), item("rake", 2, 1))
	if twice == nil || !strings.Contains(twice.Error(), "are on the same item") {
		t.Errorf("one product twice: error %v", twice)
	}
	if _, err := orders.GetOrder.Get(t.Context(), s.table, key("1")); !errors.Is(err, table.ErrNotFound) {
		t.Errorf("what was refused: error %v", err)
	}
	if all := collect(s, orders.OrdersIn, orders.StatusIn{Status: orders.Pending}); len(all) != 1 {
		t.Errorf("%d orders are pending, want 1", len(all))
	}
}

// A lost response does not cause a second order: the next attempt returns ErrPlaced.
func TestPlaceAgain(t *testing.T) {
	s := open(t)
	s.db.Inject(enginetest.Fault{Effect: enginetest.LoseAnswer, Op: "TransactWriteItems", Nth: 1})
	if err := s.place("1001", item("rake", 1, 1)); err == nil {
		t.Fatal("the answer was not lost")
	}
	if err := s.place("1001", item("rake", 1, 1)); !errors.Is(err, orders.ErrPlaced) {
		t.Errorf("error %v", err)
	}
	if n := len(collect(s, orders.OrdersOf, orders.CustomerKey{CustomerID: "42"})); n != 1 {
		t.Errorf("the customer has %d orders", n)
	}
}

// The order, its copy, its history and the index have the same status.
func TestMove(t *testing.T) {
	s := open(t)
	s.must(s.place("1001", item("rake", 1, 1)))
	for _, to := range []orders.Status{orders.Paid, orders.Paid, orders.Shipped, orders.Delivered} {
		s.db.Advance(time.Hour)
		s.must(orders.Move(t.Context(), s.table, key("1001"), to, ""))
		if n := len(collect(s, orders.OrdersIn, orders.StatusIn{Status: to})); n != 1 && to.Open() {
			t.Errorf("%d orders are %s", n, to)
		}
	}
	for _, to := range []orders.Status{orders.Pending, orders.Cancelled, "lost"} {
		if err := orders.Move(t.Context(), s.table, key("1001"), to, ""); !errors.Is(err, orders.ErrMove) {
			t.Errorf("to %s: error %v", to, err)
		}
	}
	if err := orders.Move(t.Context(), s.table, key("7"), orders.Paid, ""); !errors.Is(err, table.ErrNotFound) {
		t.Errorf("no order: error %v", err)
	}
	var history []orders.Status
	for _, c := range collect(s, orders.HistoryOf, key("1001")) {
		history = append(history, c.Status)
	}
	if want := []orders.Status{orders.Pending, orders.Paid, orders.Shipped, orders.Delivered}; !slices.Equal(history, want) {
		t.Errorf("history %v, want %v", history, want)
	}
	if p := collect(s, orders.OrdersOf, orders.CustomerKey{CustomerID: "42"}); p[0].Status != orders.Delivered {
		t.Errorf("the copy is %s", p[0].Status)
	}
	for status, want := range map[orders.Status]int{orders.Pending: 0, orders.Paid: 0, orders.Shipped: 0, orders.Delivered: 0} {
		if n := len(collect(s, orders.OrdersIn, orders.StatusIn{Status: status})); n != want {
			t.Errorf("%d orders are %s, want %d", n, status, want)
		}
	}
}

// If many change an order concurrently to different statuses, one succeeds, and the others get an
// error.
func TestMoveAtOnce(t *testing.T) {
	s := open(t)
	for round := range 20 {
		id := fmt.Sprint(1000 + round)
		s.must(s.place(id, item("rake", 1, 1)))
		var wait sync.WaitGroup
		for n := range 16 {
			wait.Go(func() {
				to := []orders.Status{orders.Paid, orders.Cancelled}[n%2]
				err := orders.Move(t.Context(), s.table, key(id), to, fmt.Sprint(n))
				if err != nil && !errors.Is(err, orders.ErrMove) && !errors.Is(err, table.ErrConflict) {
					t.Error(err)
				}
			})
		}
		wait.Wait()
		o, err := orders.GetOrder.Get(t.Context(), s.table, key(id))
		s.must(err)
		h := collect(s, orders.HistoryOf, key(id))
		statuses := []orders.Status{orders.Pending}
		if o.Status == orders.Cancelled && len(h) == 3 { // paid, then cancelled
			statuses = append(statuses, orders.Paid)
		}
		statuses = append(statuses, o.Status)
		if len(h) != len(statuses) {
			t.Fatalf("order %s is %s, with the history %+v", id, o.Status, h)
		}
	}
	for _, p := range collect(s, orders.OrdersOf, orders.CustomerKey{CustomerID: "42"}) {
		if o, err := orders.GetOrder.Get(t.Context(), s.table, key(p.OrderID)); err != nil || o.Status != p.Status {
			t.Errorf("order %s is %s (%v), its copy %s", p.OrderID, o.Status, err, p.Status)
		}
	}
}

// The orders in a status come from all shards, ordered by time, in any range, page after page.
func TestOrdersIn(t *testing.T) {
	s := open(t)
	shards := map[int]bool{}
	for i := range 40 {
		id := fmt.Sprintf("%04d", i)
		s.must(s.place(id, item("rake", 1, 1)))
		shards[table.Shard(id, orders.StatusShards)] = true
	}
	if len(shards) != orders.StatusShards {
		t.Fatalf("the orders are in shards %v", shards)
	}
	ids := func(found []orders.Order) (ids []string) {
		for _, o := range found {
			ids = append(ids, o.OrderID)
		}
		return ids
	}
	all := ids(collect(s, orders.OrdersIn, orders.StatusIn{Status: orders.Pending}))
	if !slices.IsSortedFunc(all, func(a, b string) int { return strings.Compare(b, a) }) || len(all) != 40 {
		t.Errorf("pending orders are %v", all)
	}
	from := s.db.Now().Add(-9 * time.Minute) // the 31st, which is 0030
	part := ids(collect(s, orders.OrdersIn, orders.StatusIn{Status: orders.Pending, From: from, To: from.Add(3 * time.Minute)}))
	if fmt.Sprint(part) != "[0032 0031 0030]" {
		t.Errorf("three minutes have the orders %v", part)
	}
	var paged []string
	for cursor := ""; ; {
		p, err := orders.OrdersIn.Page(t.Context(), s.table, orders.StatusIn{Status: orders.Pending}, cursor, 7)
		s.must(err)
		paged = append(paged, ids(p.Items)...)
		if cursor = p.Next; cursor == "" {
			break
		}
	}
	if !slices.Equal(paged, all) {
		t.Errorf("page by page: %v", paged)
	}
}

// A customer is on the index while there is a tier, under the current one.
func TestTiers(t *testing.T) {
	s := open(t)
	for _, tier := range []string{"silver", ""} {
		_, err := orders.Customers.Modify(t.Context(), s.table, orders.CustomerKey{CustomerID: "42"}, func(c *orders.Customer) error {
			c.Tier = tier
			return nil
		})
		s.must(err)
		for _, of := range []string{"gold", "silver"} {
			want := 0
			if of == tier {
				want = 1
			}
			if n := len(collect(s, orders.CustomersIn, orders.TierIn{Tier: of})); n != want {
				t.Errorf("with the tier %q, %d customers are %s", tier, n, of)
			}
		}
	}
}

// The index holds three kinds of items, and each pattern finds its own.
func TestOneIndex(t *testing.T) {
	s := open(t)
	s.must(s.place("1001", item("rake", 1, 1)))
	for _, name := range []string{"Rake", "Hose"} {
		s.must(orders.Products.Create(t.Context(), s.table, &orders.Product{ProductKey: orders.ProductKey{ProductID: name}, Name: name, Category: "gold"}))
	}
	if n := len(collect(s, orders.CustomersIn, orders.TierIn{Tier: "gold"})); n != 1 {
		t.Errorf("%d gold customers", n)
	}
	if p := collect(s, orders.ProductsIn, orders.CategoryIn{Category: "gold"}); len(p) != 2 || p[0].Name != "Hose" {
		t.Errorf("golden products are %+v", p)
	}
	if n := len(collect(s, orders.OrdersIn, orders.StatusIn{Status: "gold"})); n != 0 {
		t.Errorf("%d orders are gold", n)
	}
}
