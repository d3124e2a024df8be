package eventschema_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/eventschema"
	"github.com/onefold/onefold/table"
)

// What a schema declares personal becomes rules by person, wherever it says so.
func TestPersonal(t *testing.T) {
	const id = `"id":{"type":"string"}`
	for text, want := range map[string]string{
		`{"properties":{` + id + `,"name":{}}}`: "[]",
		`true`:                                  "[]",
		`{"properties":{` + id + `,"name":{"x-personal-data":"id"}}}`:                                                         "[{Registered id [name] []}]",
		`{"properties":{` + id + `,"b":{"x-personal-data":"id"},"a":{"properties":{"c":{"x-personal-data":"id"}}}}}`:          "[{Registered id [a.c b] []}]",
		`{"properties":{"who":{"properties":{` + id + `}},"tags":{"items":{"x-personal-data":"who.id"}}}}`:                    "[{Registered who.id [tags.*] []}]",
		`{"properties":{` + id + `,"by":{"additionalProperties":{"properties":{"a":{"x-personal-data":"id"}}}}}}`:             "[{Registered id [by.*.a] []}]",
		`{"properties":{"a":{},"b":{},"x":{"x-personal-data":"a"},"y":{"x-personal-data":"b"}}}`:                              "[{Registered a [x] []} {Registered b [y] []}]",
		`{"properties":{` + id + `,"n":{"$ref":"#/$defs/name"}},"$defs":{"name":{"type":"string","x-personal-data":"id"}}}`:   "[{Registered id [n] []}]",
		`{"properties":{` + id + `,"n":{"$ref":"#/$defs/name","x-personal-data":"id"}},"$defs":{"name":{"type":"string"}}}`:   "[{Registered id [n] []}]",
		`{"oneOf":[{"properties":{` + id + `,"n":{"x-personal-data":"id"}}},{"properties":{"n":{"type":"null"}}}]}`:           "[{Registered id [n] []}]",
		`{"if":{"properties":{` + id + `}},"then":{"properties":{"n":{"x-personal-data":"id"}}}}`:                             "[{Registered id [n] []}]",
		`{"properties":{` + id + `,"n":{"x-personal-data":"id"}},"x-personal-metadata":{"ip":"id"}}`:                          "[{Registered id [n] [ip]}]",
		`{"properties":{` + id + `},"x-personal-metadata":{"ip":"id","agent":"id"}}`:                                          "[{Registered id [] [agent ip]}]",
		`{"properties":{` + id + `,"x-personal-data":{"type":"string"},"n":{"const":{"x-personal-data":1}}}}`:                 "[]",
		`{"properties":{` + id + `,"n":{"x-personal-data":"id"}},"dependentSchemas":{"n":{"properties":{"n":{"type":"x"}}}}}`: "invalid",
	} {
		s, err := eventschema.Parse([]byte(text))
		if err != nil {
			if want != "invalid" {
				t.Errorf("%s: %v", text, err)
			}
			continue
		}
		if got := fmt.Sprint(s.Personal("Registered")); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// A declaration that no rule can express, or that would make all appends fail, is refused.
func TestPersonalRefuses(t *testing.T) {
	const id = `"properties":{"id":{},`
	for _, text := range []string{
		`{"x-personal-data":"id",` + id + `"a":{}}}`,
		`{` + id + `"n":{"x-personal-data":true}}}`,
		`{` + id + `"n":{"x-personal-data":""}}}`,
		`{` + id + `"n":{"x-personal-data":"customerId"}}}`,
		`{` + id + `"n":{"x-personal-data":"*"}}}`,
		`{` + id + `"n":{"x-personal":"id"}}}`,
		`{` + id + `"n":{"x-personal-metadata":{"ip":"id"}}}}`,
		`{` + id + `"n":{}},"x-personal-metadata":["ip"]}`,
		`{` + id + `"n":{}},"x-personal-metadata":{"ip":1}}`,
		`{` + id + `"n":{}},"x-personal-metadata":{"":"id"}}`,
		`{` + id + `"a.b":{"x-personal-data":"id"}}}`,
		`{` + id + `"":{"x-personal-data":"id"}}}`,
		`{` + id + `"*":{"x-personal-data":"id"}}}`,
		`{` + id + `"` + strings.Repeat("n", 2000) + `":{"x-personal-data":"id"}}}`,
		`{"properties":{"id":{"x-personal-data":"id"}}}`,
		`{"properties":{"a":{"x-personal-data":"a.id","properties":{"id":{}}}}}`,
		`{"properties":{"id":{}},"additionalProperties":{"x-personal-data":"id"}}`,
		`{"allOf":[{"properties":{"id":{}}},{"additionalProperties":{"x-personal-data":"id"}}]}`,
		`{` + id + `"a":{"prefixItems":[{"x-personal-data":"id"}]}}}`,
		`{` + id + `"a":{"contains":{"x-personal-data":"id"}}}}`,
		`{` + id + `"a":{}},"patternProperties":{"^n":{"x-personal-data":"id"}}}`,
		`{` + id + `"a":{}},"not":{"properties":{"n":{"x-personal-data":"id"}}}}`,
	} {
		if _, err := eventschema.Parse([]byte(text)); !errors.Is(err, eventschema.ErrSchema) {
			t.Errorf("%.120s: %v", text, err)
		}
	}
}

// The rules of the table have what the schemas of all versions declare, and keep it. A schema that is
// refused declares nothing.
func TestPutDeclares(t *testing.T) {
	db, err := engine.OpenMemory(engine.Options{})
	if err == nil {
		err = table.MustSchema("both", eventstore.Schema, eventschema.Tables).Ensure(t.Context(), db, "onefold")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	on := table.New(db, "onefold", table.Options{})
	declared := func() string {
		t.Helper()
		r, err := eventstore.RulesNow.Get(t.Context(), on, eventstore.RulesKey{})
		if err != nil && !errors.Is(err, table.ErrNotFound) {
			t.Fatal(err)
		}
		return fmt.Sprint(r.Personal)
	}
	for i, c := range []struct {
		version     int
		text, rules string
		err         error
	}{
		{1, `{"properties":{"id":{},"name":{}}}`, "[]", nil},
		{1, `{"properties":{"id":{},"name":{"x-personal-data":"id","type":"string"}}}`, "[]", eventschema.ErrIncompatible},
		{1, `{"properties":{"id":{},"name":{"x-personal-data":"id"}}}`, "[{Registered id [name] []}]", nil},
		{2, `{"properties":{"id":{},"email":{"x-personal-data":"id"}}}`, "[{Registered id [name email] []}]", nil},
		{2, `{"properties":{"id":{},"email":{}}}`, "[{Registered id [name email] []}]", nil},
		{3, `{"properties":{"name":{"properties":{"id":{}}},"x":{"x-personal-data":"name.id"}}}`, "[{Registered id [name email] []}]", eventstore.ErrInvalid}, // the ID would be encrypted
	} {
		_, err := eventschema.Put(t.Context(), on, eventschema.Key{EventType: "Registered", Version: c.version}, parse(t, c.text))
		if !errors.Is(err, c.err) || c.err == nil && err != nil {
			t.Errorf("%d: %v", i, err)
		}
		if got := declared(); got != c.rules {
			t.Errorf("%d: %s, want %s", i, got, c.rules)
		}
	}
	wide := `{"properties":{"id":{}`
	for i := range 990 {
		wide += fmt.Sprintf(`,"%s%03d":{"x-personal-data":"id"}`, strings.Repeat("n", 35), i)
	}
	for _, name := range []string{"A", "B"} {
		_, err = eventschema.Put(t.Context(), on, eventschema.Key{EventType: name, Version: 1}, parse(t, wide+"}}"))
	}
	if _, none := eventschema.Versions(t.Context(), on, "B"); !errors.Is(err, eventstore.ErrInvalid) || !errors.Is(none, eventschema.ErrNotFound) {
		t.Errorf("more rules than stores can read all the time: %v, %v", err, none)
	}
}
