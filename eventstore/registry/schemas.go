package registry

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/eventschema"
)

// TypeSchema is the JSON Schema of a version of an event type.
type TypeSchema struct {
	EventType string
	Version   int
	Schema    *eventschema.Schema
}

// Constrain sets the JSON Schema of the registered version of a type, which Encode then checks:
// events that do not match it are not appended. It is also what Schemas returns, instead of the
// schema of the Go type. Mistakes are reported by Check.
func Constrain(r *Registry, eventType string, schema []byte) {
	s, err := eventschema.Parse(schema)
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.open("schema of %q", eventType) {
		return
	}
	switch t := r.names[eventType]; {
	case err != nil:
		r.problem("the schema of type %q: %w", eventType, err)
	case t == nil:
		r.problem("a schema of type %q, which is not registered", eventType)
	case t.schema != nil:
		r.problem("type %q has two schemas", eventType)
	case t.form.codec != JSON:
		r.problem("type %q has a schema, but its codec is not JSON", eventType)
	default:
		t.schema = s
	}
}

// Schemas returns the JSON Schemas of all registered types, and of the older versions that have
// upcasts, by type and version. Those without Constrain follow from the Go types, as with
// eventschema.Of. Types with another codec than JSON are omitted. Errors: ErrRegistry;
// eventschema.ErrSchema for a Go type without a JSON Schema.
func (r *Registry) Schemas() ([]TypeSchema, error) {
	if err := r.ready(); err != nil {
		return nil, err
	}
	var all []TypeSchema
	for _, name := range slices.Sorted(maps.Keys(r.names)) {
		t := r.names[name]
		for version := 1; version <= t.version; version++ {
			f := t.form
			if old := t.olds[version]; old != nil {
				f = old.form
			}
			s := t.schema
			if f.codec != JSON {
				continue
			}
			if version < t.version || s == nil {
				var err error
				if s, err = eventschema.Of(f.goes); err != nil {
					return nil, fmt.Errorf("registry: type %q, version %d: %w", name, version, err)
				}
			}
			all = append(all, TypeSchema{name, version, s})
		}
	}
	return all, nil
}

// PutSchemas stores the schemas, so that servers check appends over HTTP against them. A program may
// call it whenever it starts. Stored schemas of older versions stay as they are: the program that had
// the version may have set them with Constrain. Errors: those of Schemas, *eventschema.Incompatible if
// a type changed and its version did not, those of the store.
func (r *Registry) PutSchemas(ctx context.Context, s *eventstore.Store) error {
	all, err := r.Schemas()
	if err != nil {
		return err
	}
	for _, one := range all {
		if one.Version < r.names[one.EventType].version {
			stored, err := eventschema.Versions(ctx, s.Table(), one.EventType)
			if err != nil && !errors.Is(err, eventschema.ErrNotFound) {
				return fmt.Errorf("registry: %w", err)
			}
			if slices.ContainsFunc(stored, func(r eventschema.Record) bool { return r.Version == one.Version }) {
				continue
			}
		}
		if _, err := eventschema.Put(ctx, s.Table(), eventschema.Key{EventType: one.EventType, Version: one.Version}, one.Schema); err != nil {
			return fmt.Errorf("registry: %w", err)
		}
	}
	return nil
}

// matches checks a payload against the schema of its type. Errors: ErrPayload.
func (t *eventType) matches(payload []byte) error {
	if t.schema == nil {
		return nil
	}
	if err := t.schema.Check(payload); err != nil {
		return fmt.Errorf("%w: encode %s: %w", ErrPayload, t.name, err)
	}
	return nil
}
