package shred_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/eventstoretest"
	"github.com/onefold/onefold/eventstore/shred"
	"github.com/onefold/onefold/table"
)

// An event store with keys behaves like one without, beside other writers with and without keys.
func TestConformance(t *testing.T) {
	t.Parallel()
	open := func(t *testing.T) *table.Table { return eventstoretest.New(t, eventstore.Options{}).Table }
	for name, o := range map[string]eventstore.Options{"transactions": {}, "one by one": {PutMode: true}} {
		t.Run(name, func(t *testing.T) {
			keyStore := func(on *table.Table) eventstore.Options {
				k, err := shred.New(on, shred.Options{
					Masters: []shred.Master{master("2026")}, Personal: []shred.Personal{shred.Personal(eventstoretest.Personal)},
					Sleep: func(context.Context, time.Duration) error { return nil },
				})
				if err != nil {
					t.Fatal(err)
				}
				o.Secrets = k.Secrets()
				return o
			}
			eventstoretest.Conformance(t, open, keyStore, eventstoretest.With(o), keyStore)
		})
	}
}

// After a person was forgotten, the store cannot tell whether a repeated append is the same, so it
// refuses it for that reason.
func TestAppendAgainAfterErase(t *testing.T) {
	w := newWorld(t, eventstore.Options{})
	again := func(name string) error {
		_, err := w.store.Append(w.ctx, customer("1"), eventstore.Any(), []eventstore.NewEvent{{Type: "Registered", Payload: []byte(`{"customerId":"c1","name":"` + name + `"}`)}}, eventstore.CommitID("c"))
		return err
	}
	w.must(again("Ada"))
	w.must(again("Ada"))
	if err := again("Grace"); !errors.Is(err, eventstore.ErrCommitReused) {
		t.Errorf("another name: %v", err)
	}
	_, err := w.keyStore.Erase(w.ctx, "c1")
	w.must(err)
	for _, name := range []string{"Ada", "Grace"} {
		if err := again(name); !errors.Is(err, shred.ErrErased) || errors.Is(err, eventstore.ErrCommitReused) {
			t.Errorf("%s, who was forgotten: %v", name, err)
		}
	}
}
