package main

import (
	"context"
	"io"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/onefold/onefold/eventstore"
)

// tableRules change a table as another program could before onefold appends to it.
var tableRules = map[string]func(context.Context, *store) error{
	"personal": func(ctx context.Context, s *store) error {
		return eventstore.DeclarePersonal(ctx, s.table, []eventstore.PersonalRule{{Event: "Registered", Subject: "who", Fields: []string{"name"}}})
	},
	"one-by-one": func(ctx context.Context, s *store) error {
		one, err := eventstore.New(s.table, eventstore.Options{PutMode: true})
		if err == nil {
			_, err = one.Append(ctx, eventstore.ID{Type: "order", ID: "1"}, eventstore.NoStream(), []eventstore.NewEvent{{Type: "Placed"}})
		}
		return err
	},
}

// ruled adds a rule to the table of a script's data directory.
func ruled(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 || tableRules[args[0]] == nil {
		ts.Fatalf("usage: ruled personal|one-by-one")
	}
	g := &globals{Data: ts.Getenv("ONEFOLD_DATA_DIR")}
	ts.Check(g.withStore(context.Background(), io.Discard, tuning{}, func(s *store) error { return tableRules[args[0]](context.Background(), s) }))
}
