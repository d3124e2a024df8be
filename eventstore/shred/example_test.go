package shred_test

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"log"

	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/shred"
	"github.com/onefold/onefold/table"
)

// The example from the guide: a person is in an event, is forgotten, and is no longer in it.
func ExampleKeyStore_Erase() {
	type Registered struct {
		Customer string `json:"customerId" personal:"subject"`
		Name     string `json:"name" personal:"yes"`
		Plan     string `json:"plan"`
	}
	ctx := context.Background()
	db, err := engine.OpenMemory(engine.Options{})
	must(err)
	defer db.Close()
	must(shred.Schema.Ensure(ctx, db, "onefold"))
	t := table.New(db, "onefold", table.Options{})

	personal, err := shred.Of[Registered]("Registered")
	must(err)
	master := shred.Master{ID: "2026", Key: bytes.Repeat([]byte{7}, 32)} // from wherever secrets are kept
	keyStore, err := shred.New(t, shred.Options{Masters: []shred.Master{master}, Personal: []shred.Personal{personal}})
	must(err)
	store, err := eventstore.New(t, eventstore.Options{Secrets: keyStore.Secrets()})
	must(err)

	id := eventstore.ID{Type: "customer", ID: "7"}
	_, err = store.Append(ctx, id, eventstore.NoStream(), []eventstore.NewEvent{
		{Type: "Registered", Payload: []byte(`{"customerId":"7","name":"Ada Lovelace","plan":"gold"}`)},
	})
	must(err)
	show(store.Read(ctx, id))
	receipt, err := keyStore.Erase(ctx, "7")
	must(err)
	fmt.Println("forgotten in", receipt.Aggregates)
	show(store.Read(ctx, id))
	// Output:
	// {"customerId":"7","name":"Ada Lovelace","plan":"gold"}
	// forgotten in [customer/7]
	// {"customerId":"7","name":"[forgotten]","plan":"gold"}
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func show(events iter.Seq2[eventstore.Event, error]) {
	for e, err := range events {
		must(err)
		fmt.Println(string(e.Payload))
	}
}
