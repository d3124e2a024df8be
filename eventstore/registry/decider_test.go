package registry_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/registry"
)

type pay struct{ Cents int }

var errPaid = errors.New("the order is paid")

// payments is a decider of orders that knows one command.
func payments(t *testing.T) *registry.Decider[Order, pay] {
	t.Helper()
	store, err := open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r := registry.New(registry.Options{})
	registry.Register[OrderPaid](r, "OrderPaid", 1)
	d := &registry.Decider[Order, pay]{Store: store, Registry: r, Type: "order",
		Fold: registry.Fold(r, 1, registry.On(func(o Order, e OrderPaid) (Order, error) { o.Due, o.Paid = -e.Cents, true; return o, nil })),
		Decide: func(o Order, p pay) ([]any, error) {
			switch {
			case p.Cents == 0:
				return nil, nil
			case o.Paid:
				return nil, errPaid
			}
			return []any{OrderPaid(p)}, nil
		}}
	if err := r.Check(); err != nil {
		t.Fatal(err)
	}
	return d
}

func TestDecider(t *testing.T) {
	d := payments(t)
	for _, c := range []struct {
		command pay
		id      string
		version int64
		due     int
		err     error
	}{
		{pay{0}, "nothing", 0, 0, nil},
		{pay{5}, "first", 1, -5, nil},
		{pay{7}, "second", 1, -5, errPaid},
		{pay{5}, "first", 1, -5, nil}, // sent again
	} {
		at, err := d.Handle(t.Context(), "1", c.command, eventstore.CommitID(c.id))
		if at.Version != c.version || at.State.Due != c.due || !errors.Is(err, c.err) {
			t.Errorf("%+v: version %d, %+v, %v; want %d, %d, %v", c.command, at.Version, at.State, err, c.version, c.due, c.err)
		}
	}
	if at, err := d.State(t.Context(), "1"); err != nil || at.Version != 1 || !at.State.Paid {
		t.Errorf("%+v, %v", at, err)
	}
}

// Events have the envelope of the context, and those that follow from an event name it.
func TestEnvelopeOfContext(t *testing.T) {
	d, ctx := payments(t), t.Context()
	events := func(id string) (all []eventstore.Event) {
		for e, err := range d.Store.Read(ctx, eventstore.ID{Type: "order", ID: id}) {
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, e)
		}
		return all
	}
	first := eventstore.Envelope{Actor: "ada", Tenant: "acme", Metadata: map[string]string{"ip": "192.0.2.1"}}
	for i, envelope := range []eventstore.Envelope{first, {Correlation: "talk", Actor: "ada"}} {
		id := fmt.Sprint("cause-", i)
		if _, err := d.Handle(registry.Within(ctx, envelope), id, pay{1}); err != nil {
			t.Fatal(err)
		}
		cause := events(id)[0]
		if cause.Actor != envelope.Actor || cause.Tenant != envelope.Tenant || cause.Metadata["ip"] != envelope.Metadata["ip"] {
			t.Errorf("the envelope is %+v, want %+v", cause.Envelope, envelope)
		}
		if _, err := d.Handle(registry.CausedBy(ctx, &cause), "effect-"+id, pay{1}); err != nil {
			t.Fatal(err)
		}
		talk := cause.EventID
		if envelope.Correlation != "" {
			talk = envelope.Correlation
		}
		if e := events("effect-" + id)[0]; e.Causation != cause.EventID || e.Correlation != talk || e.Actor != "ada" || e.Tenant != envelope.Tenant {
			t.Errorf("the effect has %+v, caused by %s in %s", e.Envelope, cause.EventID, talk)
		}
	}
}

func TestModel(t *testing.T) {
	r := registry.New(registry.Options{})
	registry.Register[OrderPaid](r, "OrderPaid", 1)
	refused := errors.New("refused")
	apply := registry.Model(r, registry.On(func(o Order, e OrderPaid) (Order, error) {
		if o.Paid {
			return Order{}, refused
		}
		return Order{Due: e.Cents, Paid: true}, nil
	}))
	var model Order
	e := &eventstore.Event{EventType: "OrderPaid", Schema: 1, Payload: []byte(`{"Cents":3}`)}
	if err := apply(&model, e); err != nil || model.Due != 3 {
		t.Errorf("%+v, %v", model, err)
	}
	if err := apply(&model, e); !errors.Is(err, refused) || model.Due != 3 {
		t.Errorf("after an error, the model is %+v (%v)", model, err)
	}
}
