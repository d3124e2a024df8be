package registry_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/registry"
	"github.com/onefold/onefold/table"
)

// The events of an order, and the state that they lead to.
type (
	OrderPlaced struct{ Customer, Currency string }
	ItemAdded   struct {
		Item  string
		Cents int
	}
	OrderPaid struct{ Cents int }

	Order struct {
		Customer   string
		Due, Items int
		Paid       bool
	}
)

// orderPlaced1 is the version of OrderPlaced before it had a currency.
type orderPlaced1 struct{ Customer string }

func Example() {
	ctx := context.Background()
	r := registry.New(registry.Options{})
	registry.Register[OrderPlaced](r, "OrderPlaced", 2)
	registry.Register[ItemAdded](r, "ItemAdded", 1)
	registry.Register[OrderPaid](r, "OrderPaid", 1)
	registry.Upcast(r, "OrderPlaced", 1, 2, func(old orderPlaced1) (OrderPlaced, error) {
		return OrderPlaced{old.Customer, "EUR"}, nil
	})
	orders := registry.Fold(r, 1,
		registry.On(func(o Order, e OrderPlaced) (Order, error) { o.Customer = e.Customer; return o, nil }),
		registry.On(func(o Order, e ItemAdded) (Order, error) { o.Due += e.Cents; o.Items++; return o, nil }),
		registry.On(func(o Order, e OrderPaid) (Order, error) { o.Due -= e.Cents; o.Paid = true; return o, nil }),
	)
	store, err := open(ctx)
	if err = errors.Join(err, r.Check()); err != nil {
		fmt.Println(err)
		return
	}

	id := eventstore.ID{Type: "order", ID: "1042"}
	old := []eventstore.NewEvent{{Type: "OrderPlaced", Schema: 1, Payload: []byte(`{"Customer": "Ada"}`)}}
	if _, err := store.Append(ctx, id, eventstore.NoStream(), old); err != nil {
		fmt.Println(err)
	}
	pay := registry.Decide(r, func(at eventstore.Loaded[Order]) ([]any, error) {
		if at.State.Paid {
			return nil, nil
		}
		return []any{ItemAdded{"a book", 2500}, OrderPaid{at.State.Due + 2500}}, nil
	})
	at, err := eventstore.Transact(ctx, store, id, orders, pay, eventstore.CommitID("command-7"))
	fmt.Printf("%+v at version %d, %v\n", at.State, at.Version, err)
	for e, err := range r.Read(ctx, store, id) {
		fmt.Printf("%d %T%+v %v\n", e.Seq, e.Data, e.Data, err)
	}
	// Output:
	// {Customer:Ada Due:0 Items:1 Paid:true} at version 3, <nil>
	// 1 registry_test.OrderPlaced{Customer:Ada Currency:EUR} <nil>
	// 2 registry_test.ItemAdded{Item:a book Cents:2500} <nil>
	// 3 registry_test.OrderPaid{Cents:2500} <nil>
}

// ExampleRegistry_Check shows the error for an event with a forgotten upcast.
func ExampleRegistry_Check() {
	r := registry.New(registry.Options{})
	registry.Register[OrderPlaced](r, "OrderPlaced", 3)
	registry.Upcast(r, "OrderPlaced", 1, 3, func(old orderPlaced1) (OrderPlaced, error) {
		return OrderPlaced{old.Customer, "EUR"}, nil
	})
	fmt.Println(r.Check())
	// Output: registry: invalid: there is no upcast of type "OrderPlaced" from version 2
}

// open opens an in-memory event store.
func open(ctx context.Context) (*eventstore.Store, error) {
	db, err := engine.OpenMemory(engine.Options{})
	if err != nil {
		return nil, err
	}
	if err := eventstore.Schema.Ensure(ctx, db, "onefold"); err != nil {
		return nil, err
	}
	return eventstore.New(table.New(db, "onefold", table.Options{}), eventstore.Options{})
}
