package diff_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/blueprint"
	"github.com/onefold/onefold/blueprint/diff"
	"github.com/onefold/onefold/table"
)

type key struct {
	ID string `dynamodbav:"id"`
}

type item struct {
	key
	City string `dynamodbav:"city,omitempty"`
	N    int    `dynamodbav:"n"`
}

type wider struct {
	key
	City string `dynamodbav:"city,omitempty"`
	N    int    `dynamodbav:"n"`
	Note string `dynamodbav:"note,omitempty"`
	Size int64  `dynamodbav:"size"`
}

type retyped struct {
	key
	City string `dynamodbav:"city,omitempty"`
	N    string `dynamodbav:"n"`
}

type cityIn struct {
	City string `dynamodbav:"city"`
}

func indexed(index, pk string) table.Def[item] {
	return table.Def[item]{PK: "PARCEL#{id}", SK: "PARCEL", Indexes: []table.Index[item]{{Name: index, PK: pk, SK: "PARCEL#{id}"}}}
}

func schema(t *testing.T, parts ...table.Part) *table.Schema {
	t.Helper()
	s, err := table.NewSchema("parcels", parts...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func parcels(d table.Def[item]) *table.Entity[item, key] {
	return table.Define[item, key]("parcel", d)
}

// TestCompare checks that each change is found and rated by the worst effect that it has on stored
// items.
func TestCompare(t *testing.T) {
	plain := table.Def[item]{PK: "PARCEL#{id}", SK: "PARCEL"}
	onIndex := parcels(indexed("gsi1", "CITY#{city}"))
	byCity := table.NewQuery(onIndex, table.QueryDef[cityIn]{ID: "P1", Question: "parcels of a city", Index: "gsi1"})
	other := table.Define[item, key]("box", table.Def[item]{PK: "BOX#{id}", SK: "BOX"})
	for name, c := range map[string]struct {
		before, after *table.Schema
		worst         diff.Kind
		says          string
	}{
		"nothing":        {schema(t, parcels(plain)), schema(t, parcels(plain)), diff.Compatible, "Nothing has changed."},
		"new entity":     {schema(t, parcels(plain)), schema(t, parcels(plain), other), diff.Compatible, "entity box is new"},
		"gone entity":    {schema(t, parcels(plain), other), schema(t, parcels(plain)), diff.Breaks, "entity box was removed"},
		"other pk":       {schema(t, parcels(plain)), schema(t, parcels(table.Def[item]{PK: "P#{id}", SK: "PARCEL"})), diff.Breaks, "pk was PARCEL#{id}, is P#{id}"},
		"other sk":       {schema(t, parcels(plain)), schema(t, parcels(table.Def[item]{PK: "PARCEL#{id}", SK: "METADATA"})), diff.Breaks, "sk was PARCEL, is METADATA"},
		"new index":      {schema(t, parcels(plain)), schema(t, onIndex, byCity), diff.NeedsIndex, "index gsi1 is new"},
		"gone index":     {schema(t, onIndex, byCity), schema(t, parcels(plain)), diff.NeedsIndex, "index gsi1 was removed"},
		"on an index":    {schema(t, parcels(plain), boxed(indexed("gsi1", "CITY#{city}"))), schema(t, onIndex, boxed(indexed("gsi1", "CITY#{city}"))), diff.Backfill, "parcel: items are now on gsi1, as CITY#{city} / PARCEL#{id}"},
		"off an index":   {schema(t, onIndex, boxed(indexed("gsi1", "CITY#{city}"))), schema(t, parcels(plain), boxed(indexed("gsi1", "CITY#{city}"))), diff.Backfill, "parcel: items are no longer on gsi1"},
		"index keys":     {schema(t, onIndex), schema(t, parcels(indexed("gsi1", "TOWN#{city}"))), diff.Backfill, "were CITY#{city} / PARCEL#{id}, are TOWN#{city} / PARCEL#{id}"},
		"new attribute":  {schema(t, parcels(plain)), schema(t, table.Define[wider, key]("parcel", table.Def[wider]{PK: "PARCEL#{id}", SK: "PARCEL"})), diff.Backfill, "attribute size is new and required"},
		"gone attribute": {schema(t, table.Define[wider, key]("parcel", table.Def[wider]{PK: "PARCEL#{id}", SK: "PARCEL"})), schema(t, parcels(plain)), diff.Compatible, "attribute note was removed"},
		"other type":     {schema(t, parcels(plain)), schema(t, table.Define[retyped, key]("parcel", table.Def[retyped]{PK: "PARCEL#{id}", SK: "PARCEL"})), diff.Breaks, "attribute n was a number, is a string"},
		"expires":        {schema(t, parcels(plain)), schema(t, parcels(table.Def[item]{PK: "PARCEL#{id}", SK: "PARCEL", Expires: func(*item) time.Time { return time.Time{} }})), diff.Backfill, "items now expire"},
		"smaller":        {schema(t, parcels(plain)), schema(t, parcels(table.Def[item]{PK: "PARCEL#{id}", SK: "PARCEL", MaxBytes: 1000})), diff.Backfill, "items have at most 1000 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			found := diff.Compare(blueprint.OutlineOf(c.before), blueprint.OutlineOf(c.after))
			if worst := diff.Worst(found); worst != c.worst {
				t.Errorf("worst %q, want %q: %+v", worst, c.worst, found)
			}
			var b bytes.Buffer
			if err := diff.Text(&b, found); err != nil || !strings.Contains(b.String(), c.says) {
				t.Errorf("error %v, not %q in\n%s", err, c.says, &b)
			}
		})
	}
}

func boxed(d table.Def[item]) *table.Entity[item, key] {
	d.PK = "BOX#{id}"
	d.Indexes[0].SK = "BOX#{id}"
	return table.Define[item, key]("box", d)
}

// TestControlCharacters checks that text from a file cannot control the terminal.
func TestControlCharacters(t *testing.T) {
	var b bytes.Buffer
	err := diff.Text(&b, []diff.Finding{{Kind: diff.Breaks, What: "entity \x1b[2J\nforged"}})
	if err != nil || strings.ContainsAny(b.String(), "\x1b") || strings.Contains(b.String(), "\nforged") {
		t.Errorf("%q, error %v", &b, err)
	}
}

// TestOutlineOfJSON checks that the outline of a design's JSON equals the outline of its schema:
// nothing is lost.
func TestOutlineOfJSON(t *testing.T) {
	s := schema(t, parcels(indexed("gsi1", "CITY#{city}")))
	d, err := blueprint.SingleTableDesign(s)
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	o, err := blueprint.ReadOutline(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	if found := diff.Compare(o, blueprint.OutlineOf(s)); len(found) > 0 {
		t.Errorf("%+v", found)
	}
	for _, bad := range []string{"", "{}", "[1]", `{"name": 3}`, `{"name": "x", "entities": [{}]}`} {
		if _, err := blueprint.ReadOutline(strings.NewReader(bad)); err == nil {
			t.Errorf("%q is read", bad)
		}
	}
}
