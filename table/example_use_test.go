package table_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/table"
)

type visitKey struct {
	Place string    `dynamodbav:"place"`
	At    time.Time `dynamodbav:"at"`
	Seq   int       `dynamodbav:"seq"`
}

type visit struct {
	visitKey
	Guest string `dynamodbav:"guest"`
}

type visitsIn struct {
	Place string    `dynamodbav:"place"`
	Since time.Time `dynamodbav:"since"`
	Until time.Time `dynamodbav:"until"`
}

type guestIn struct {
	Who string    `dynamodbav:"who"`
	Day time.Time `dynamodbav:"day"`
	Cap int       `dynamodbav:"-"`
}

// TestExampleUsesFindTheirRow checks that the example queries in generated documents find the row
// that they were made from. They look for it by name, by the position of variables, and just past
// the end of a range.
func TestExampleUsesFindTheirRow(t *testing.T) {
	visits := table.Define[visit, visitKey]("test.visit", table.Def[visit]{
		PK: "PLACE#{place}", SK: "VISIT#{at:ms}#{seq:04}",
		Indexes: []table.Index[visit]{{Name: "gsi1", PK: "GUEST#{guest}", SK: "VISIT#{at:day}#{seq:04}"}},
		Example: func(v *visit) { v.Guest = "ada" },
	})
	guest := table.FieldOf(visits, func(v *visit) *string { return &v.Guest })
	s := table.MustSchema("visits", visits,
		table.NewQuery(visits, table.QueryDef[visitsIn]{ID: "V1", Question: "visits", From: "VISIT#{since:ms}", To: "VISIT#{until:ms}"}),
		table.NewQuery(visits, table.QueryDef[guestIn]{ID: "V2", Question: "visits of a guest", Index: "gsi1", PK: "GUEST#{who}", Prefix: "VISIT#{day:day}#",
			Example: func(in *guestIn) { in.Cap = 3 }, Filter: func(in guestIn) table.Cond { return guest.Lt(strings.Repeat("b", in.Cap)) }}),
		table.NewGet[visitKey](visits, table.GetDef{ID: "V3", Question: "a visit"}),
		table.NewCreate(visits, table.CreateDef{ID: "V4", Question: "note a visit"}),
	)
	db, err := engine.OpenMemory(engine.Options{})
	must(t, err)
	defer func() { must(t, db.Close()) }()
	must(t, s.Ensure(t.Context(), db, "visits"))
	tab := table.New(db, "visits", table.Options{})
	row, err := s.ExampleRow("test.visit")
	must(t, err)
	var names []string
	row.Each(func(name string, _ bool, v reflect.Value) {
		names = append(names, name)
		switch p := v.Addr().Interface().(type) {
		case *string:
			*p = name
		case *time.Time:
			*p = time.Date(2026, 5, 12, 14, 0, 0, 0, time.UTC)
		case *int:
			*p = 7
		}
	})
	row.Complete()
	if fmt.Sprint(names) != "[place at seq guest]" {
		t.Errorf("attributes %s", names)
	}
	for _, id := range []string{"V4", "V1", "V2", "V3"} {
		use, err := s.ExampleUse(id, row)
		must(t, err)
		found, err := use.Run(t.Context(), tab, 10)
		must(t, err)
		if id != "V4" && len(found) != 1 {
			t.Errorf("%s with %+v found %d items", id, use.Input(), len(found))
		}
		if requests, err := use.Explain(tab); err != nil || len(requests) != 1 {
			t.Errorf("%s: %v, %v", id, requests, err)
		}
	}
	if _, err := s.ExampleUse("V9", row); !errors.Is(err, table.ErrNotFound) {
		t.Errorf("error %v", err)
	}
	if _, err := s.ExampleRow("test.none"); !errors.Is(err, table.ErrNotFound) {
		t.Errorf("error %v", err)
	}
}

// TestOperation checks that an operation reports what it does, and does it with the data that it
// makes up.
func TestOperation(t *testing.T) {
	done := 0
	def := table.OperationDef{ID: "O1", Question: "do it", Operation: "TransactWriteItems", Condition: "none", Example: func(context.Context, *table.Table) error {
		done++
		return nil
	}}
	s := table.MustSchema("operations", table.NewOperation(notes, def))
	p := s.Patterns()[0]
	if p.Operation != "TransactWriteItems" || p.Condition != "none" || p.Entity != "test.note" || p.Source == "" {
		t.Errorf("%+v", p)
	}
	row, err := s.ExampleRow("test.note")
	must(t, err)
	use, err := s.ExampleUse("O1", row)
	must(t, err)
	if _, err := use.Run(t.Context(), nil, 1); err != nil || done != 1 {
		t.Errorf("done %d times, error %v", done, err)
	}
	def.Example = nil
	if _, err := table.NewSchema("wrong", table.NewOperation(notes, def)); err == nil {
		t.Error("an operation without an example was accepted")
	}
}
