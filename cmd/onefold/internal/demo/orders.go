package demo

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/internal/backoff"
	"github.com/onefold/onefold/table"
)

// OrderDays is the length of the orders' generated past.
const OrderDays = 14

const (
	ordersADay = 12
	betweenNew = 20 * time.Second // mean time between events while the demo is served
)

// Orders is the shop of the demo: events of its orders.
type Orders struct {
	random *rand.Rand
	now    time.Time // end of the generated past
	placed int
	open   []*order // orders with events to come
}

// order is an order with events to come.
type order struct {
	id       eventstore.ID
	customer string
	version  int64
	next     []plannedEvent
}

// plannedEvent is an event to append, and its delay after the previous event.
type plannedEvent struct {
	after time.Duration
	event eventstore.NewEvent
}

// NewOrders returns orders whose past ends now.
func NewOrders(seed uint64, now time.Time) *Orders {
	return &Orders{random: rand.New(rand.NewPCG(seed, 11)), now: now.UTC().Truncate(time.Second), placed: 1000}
}

// Fill stores the events up to now, ordered by time, and returns their number.
func (o *Orders) Fill(ctx context.Context, t *table.Table) (sent int, err error) {
	clock := o.now
	store, err := eventstore.New(table.New(t.API(), t.Name(), table.Options{Clock: func() time.Time { return clock }}), eventstore.Options{})
	if err != nil {
		return 0, err
	}
	type due struct {
		at time.Time
		of *order
	}
	var events []due
	for i := range OrderDays * ordersADay {
		begun := o.now.Add(-time.Duration(OrderDays*ordersADay-i) * 24 * time.Hour / ordersADay)
		one, at := o.place(), begun.Add(time.Duration(o.random.IntN(3600))*time.Second)
		for _, h := range one.next {
			if at = at.Add(h.after); at.After(o.now) {
				break
			}
			events = append(events, due{at, one})
		}
		o.open = append(o.open, one)
	}
	slices.SortStableFunc(events, func(a, b due) int { return a.at.Compare(b.at) })
	for _, e := range events {
		clock = e.at
		if err := e.of.step(ctx, store); err != nil {
			return sent, err
		}
		sent++
	}
	o.open = slices.DeleteFunc(o.open, func(one *order) bool { return len(one.next) == 0 })
	return sent, nil
}

// Live returns a function that places new orders, and continues open ones, until its context ends.
func (o *Orders) Live(t *table.Table) func(context.Context) error {
	return func(ctx context.Context) error {
		store, err := eventstore.New(t, eventstore.Options{})
		if err != nil {
			return err
		}
		for {
			if err := backoff.For(ctx, time.Duration(o.random.Int64N(int64(2*betweenNew)))); err != nil {
				return err
			}
			if len(o.open) == 0 || o.random.IntN(4) == 0 {
				o.open = append(o.open, o.place())
			}
			at := o.random.IntN(len(o.open))
			if err := o.open[at].step(ctx, store); err != nil {
				return err
			}
			if len(o.open[at].next) == 0 {
				o.open = slices.Delete(o.open, at, at+1)
			}
		}
	}
}

// step appends the next event of the order.
func (one *order) step(ctx context.Context, store *eventstore.Store) error {
	c, err := store.Append(ctx, one.id, eventstore.Exact(one.version), []eventstore.NewEvent{one.next[0].event})
	if err != nil {
		return err
	}
	one.version, one.next = c.Version, one.next[1:]
	return nil
}

var (
	people = []string{"Ada Lovelace", "Alan Turing", "Grace Hopper", "Katherine Johnson", "Edsger Dijkstra", "Barbara Liskov", "Donald Knuth", "Radia Perlman", "Tony Hoare", "Hedy Lamarr"}
	cities = [][2]string{{"Oslo", "0150"}, {"Bergen", "5003"}, {"Berlin", "10115"}, {"Lyon", "69001"}, {"Porto", "4050"}, {"Tartu", "51003"}, {"Delft", "2611"}}
	goods  = []struct {
		sku   string
		cents int
	}{{"tea-assam-250", 1290}, {"tea-sencha-100", 1475}, {"pot-iron-07", 6400}, {"cup-glass-2", 1850}, {"tin-round", 720}, {"whisk-bamboo", 2100}}
)

// place returns a new order with all its future events.
func (o *Orders) place() *order {
	o.placed++
	id, who, city := fmt.Sprint(o.placed), people[o.random.IntN(len(people))], cities[o.random.IntN(len(cities))]
	total, lines := 0, []map[string]any{}
	for _, g := range o.random.Perm(len(goods))[:1+o.random.IntN(3)] {
		quantity := 1 + o.random.IntN(3)
		total += quantity * goods[g].cents
		lines = append(lines, map[string]any{"sku": goods[g].sku, "quantity": quantity, "price": amount(goods[g].cents)})
	}
	one := &order{id: eventstore.ID{Type: "order", ID: id}, customer: who}
	one.add(0, "OrderPlaced", who, map[string]any{
		"status": "placed", "total": amount(total), "currency": "EUR", "lines": lines,
		"customer": map[string]any{"name": who, "address": map[string]any{"city": city[0], "zip": city[1]}},
	})
	switch luck := o.random.IntN(20); {
	case luck == 0:
		one.add(o.minutes(30), "OrderCancelled", who, map[string]any{"status": "cancelled", "reason": "changed my mind"})
		return one
	case luck < 4:
		one.add(o.minutes(2), "PaymentFailed", "payments", map[string]any{"status": "payment failed", "payment": map[string]any{"reason": "card declined"}})
	case luck < 6:
		to := cities[o.random.IntN(len(cities))]
		one.add(o.minutes(20), "AddressChanged", who, map[string]any{"customer": map[string]any{"address": map[string]any{"city": to[0], "zip": to[1]}}})
	}
	one.add(o.minutes(5), "OrderPaid", "payments", map[string]any{"status": "paid", "payment": map[string]any{"method": []string{"card", "transfer", "wallet"}[o.random.IntN(3)], "amount": amount(total)}})
	one.add(o.minutes(600), "OrderPacked", "warehouse", map[string]any{"status": "packed", "parcel": map[string]any{"grams": 200 + o.random.IntN(1800)}})
	one.add(o.minutes(300), "OrderShipped", "warehouse", map[string]any{"status": "shipped", "parcel": map[string]any{"carrier": "Post", "tracking": fmt.Sprintf("RR%09dNO", o.random.IntN(1e9))}})
	one.add(o.minutes(2880), "OrderDelivered", "carrier", map[string]any{"status": "delivered"})
	if o.random.IntN(12) == 0 {
		one.add(o.minutes(4000), "OrderReturned", who, map[string]any{"status": "returned", "reason": "arrived broken"})
		one.add(o.minutes(3000), "RefundIssued", "payments", map[string]any{"status": "refunded", "refund": amount(total)})
	}
	return one
}

func (one *order) add(after time.Duration, kind, actor string, data map[string]any) {
	payload, err := json.Marshal(data)
	if err != nil {
		panic(err) // strings and numbers can always be encoded
	}
	one.next = append(one.next, plannedEvent{after, eventstore.NewEvent{
		Type: kind, Payload: payload, Envelope: eventstore.Envelope{Actor: cmp.Or(actor, one.customer), Correlation: "order-" + one.id.ID},
	}})
}

// minutes returns a random duration with this mean.
func (o *Orders) minutes(mean int) time.Duration {
	return time.Duration(mean/2+o.random.IntN(mean+1)+1) * time.Minute
}

// amount formats cents as a decimal JSON number, without rounding.
func amount(cents int) json.Number { return json.Number(fmt.Sprintf("%d.%02d", cents/100, cents%100)) }
