package registry_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/onefold/onefold/eventstore/eventschema"
	"github.com/onefold/onefold/eventstore/registry"
)

// Two versions of an event in JSON.
type (
	paid1 struct {
		Amount float64 `json:"amount"`
	}
	paid struct {
		Cents int    `json:"cents"`
		By    string `json:"by,omitempty"`
	}
)

func payTypes(constraint string) *registry.Registry {
	r := registry.New(registry.Options{})
	registry.Register[paid](r, "Paid", 2)
	registry.Upcast(r, "Paid", 1, 2, func(old paid1) (paid, error) { return paid{Cents: int(old.Amount * 100)}, nil })
	registry.Register[Other](r, "Other", 1, registry.In(gobs{}))
	if constraint != "" {
		registry.Constrain(r, "Paid", []byte(constraint))
	}
	return r
}

// A registry gives the schemas of its types, and takes those that are stricter.
func TestSchemas(t *testing.T) {
	for constraint, want := range map[string]string{
		"": `Paid 1 {"type":"object","properties":{"amount":{"type":"number"}},"required":["amount"],"additionalProperties":false}
Paid 2 {"type":"object","properties":{"cents":{"type":"integer"},"by":{"type":"string"}},"required":["cents"],"additionalProperties":false}
`,
		`{"properties": {"cents": {"minimum": 1}}}`: `Paid 1 {"type":"object","properties":{"amount":{"type":"number"}},"required":["amount"],"additionalProperties":false}
Paid 2 {"properties":{"cents":{"minimum":1}}}
`,
	} {
		r := payTypes(constraint)
		all, err := r.Schemas()
		if err != nil {
			t.Fatal(err)
		}
		var have strings.Builder
		for _, s := range all {
			fmt.Fprintln(&have, s.EventType, s.Version, string(s.Schema.Text()))
		}
		if have.String() != want {
			t.Errorf("%q: %s\nwant %s", constraint, &have, want)
		}
		_, err = r.Encode(paid{Cents: -1})
		if strict := constraint != ""; strict != errors.Is(err, registry.ErrPayload) || strict != errors.Is(err, eventschema.ErrEvent) {
			t.Errorf("%q: %v", constraint, err)
		}
		if _, err := r.Encode(paid{Cents: 1}); err != nil {
			t.Error(err)
		}
	}
}

func TestConstrainMistakes(t *testing.T) {
	for want, add := range map[string]func(*registry.Registry){
		"invalid schema":          func(r *registry.Registry) { registry.Constrain(r, "Paid", []byte(`{"type":1}`)) },
		"which is not registered": func(r *registry.Registry) { registry.Constrain(r, "None", []byte(`{}`)) },
		"its codec is not JSON":   func(r *registry.Registry) { registry.Constrain(r, "Other", []byte(`{}`)) },
		`type "Paid" has two schemas`: func(r *registry.Registry) {
			registry.Constrain(r, "Paid", []byte(`{}`))
			registry.Constrain(r, "Paid", []byte(`{}`))
		},
	} {
		r := payTypes("")
		if add(r); !errors.Is(r.Check(), registry.ErrRegistry) || !strings.Contains(r.Check().Error(), want) {
			t.Errorf("%v, want %q", r.Check(), want)
		}
	}
}

// Schemas are stored at each start. A type that changes without a new version is refused.
func TestPutSchemas(t *testing.T) {
	s := newStore(t)
	for range 2 {
		if err := payTypes("").PutSchemas(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	if err := payTypes(`{"required":["cents","by"]}`).PutSchemas(t.Context(), s); !errors.Is(err, eventschema.ErrIncompatible) {
		t.Errorf("%v", err)
	}
	all, err := eventschema.Versions(t.Context(), s.Table(), "Paid")
	if err != nil || len(all) != 2 || all[1].Version != 2 {
		t.Errorf("%+v, %v", all, err)
	}
}

// The next version of a program no longer has the constraint of the version before. It leaves that
// version's schema as it is stored, and so do programs of the former version that start again.
func TestPutSchemasAfterConstraint(t *testing.T) {
	s := newStore(t)
	former := func() *registry.Registry {
		r := registry.New(registry.Options{})
		registry.Register[paid1](r, "Paid", 1)
		registry.Constrain(r, "Paid", []byte(`{"properties":{"amount":{"minimum":0}}}`))
		return r
	}
	for i, r := range []*registry.Registry{former(), payTypes(""), former(), payTypes("")} {
		if err := r.PutSchemas(t.Context(), s); err != nil {
			t.Errorf("start %d: %v", i+1, err)
		}
	}
	all, err := eventschema.Versions(t.Context(), s.Table(), "Paid")
	if err != nil || len(all) != 2 || !strings.Contains(all[0].Text, "minimum") {
		t.Errorf("%+v, %v", all, err)
	}
}
