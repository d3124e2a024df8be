package registry

import (
	"context"
	"fmt"
	"iter"
	"reflect"
	"slices"

	"github.com/onefold/onefold/eventstore"
)

// Raw is an event of an unregistered type.
type Raw struct{ eventstore.Event }

// Decoded is an event with its decoded payload.
type Decoded struct {
	eventstore.Event
	Data any // of the registered type; for unregistered types Raw, or nil if skipped
}

// Encode returns an event for a value of a registered type. Errors: ErrRegistry, ErrUnknownType,
// ErrPayload.
func (r *Registry) Encode(v any) (eventstore.NewEvent, error) {
	if err := r.ready(); err != nil {
		return eventstore.NewEvent{}, err
	}
	t := r.types[reflect.TypeOf(v)]
	if t == nil {
		return eventstore.NewEvent{}, fmt.Errorf("%w: %T", ErrUnknownType, v)
	}
	payload, err := t.form.codec.Encode(v)
	if err != nil {
		return eventstore.NewEvent{}, fmt.Errorf("%w: encode %s: %w", ErrPayload, t.name, err)
	}
	if err := t.matches(payload); err != nil {
		return eventstore.NewEvent{}, err
	}
	e := eventstore.NewEvent{Type: t.name, Schema: t.version, Payload: payload}
	if v, ok := v.(Tagger); ok {
		e.Tags = v.Tags()
	}
	return e, nil
}

// A Tagger is a registered type whose events have tags, such as course:42, for eventstore.Query.
type Tagger interface{ Tags() []string }

// EncodeAll returns events for values of registered types, all with the same envelope. An event of a
// Tagger has its own tags in addition to those of the envelope. Errors: as Encode.
func (r *Registry) EncodeAll(envelope eventstore.Envelope, vs ...any) ([]eventstore.NewEvent, error) {
	events := make([]eventstore.NewEvent, len(vs))
	for i, v := range vs {
		e, err := r.Encode(v)
		if err != nil {
			return nil, err
		}
		tags := e.Tags
		e.Envelope = envelope
		e.Tags = slices.Concat(envelope.Tags, tags)
		events[i] = e
	}
	return events, nil
}

// Decide adapts a decision that returns values of registered types, for Transact.
func Decide[S any](r *Registry, decide func(eventstore.Loaded[S]) ([]any, error)) func(eventstore.Loaded[S]) ([]eventstore.NewEvent, error) {
	return func(at eventstore.Loaded[S]) ([]eventstore.NewEvent, error) {
		vs, err := decide(at)
		if err != nil {
			return nil, err
		}
		return r.EncodeAll(eventstore.Envelope{}, vs...)
	}
}

// Decode returns the payload of an event as a value of its registered type, upcast if necessary.
// Errors: ErrUnknownType, unless Options.Unknown says otherwise; ErrUnknownVersion, ErrPayload,
// ErrRegistry.
func (r *Registry) Decode(e *eventstore.Event) (any, error) {
	if err := r.ready(); err != nil {
		return nil, err
	}
	t := r.names[e.EventType]
	if t != nil {
		return t.decode(e)
	}
	switch r.o.Unknown {
	case Skip:
		return nil, nil
	case AsRaw:
		return Raw{*e}, nil
	}
	return nil, fmt.Errorf("%w: %q of event %d of %s", ErrUnknownType, e.EventType, e.Seq, e.ID)
}

func (t *eventType) decode(e *eventstore.Event) (any, error) {
	version, f := max(e.Schema, 1), t.form
	if version > t.version {
		return nil, fmt.Errorf("%w: event %d of %s is a %s with version %d; version %d is registered", ErrUnknownVersion, e.Seq, e.ID, t.name, version, t.version)
	}
	if version < t.version {
		f = t.olds[version].form
	}
	v, err := f.decode(e.Payload)
	for err == nil && version < t.version {
		u := t.olds[version]
		v, err = u.do(v)
		version = u.to
	}
	if err != nil {
		return nil, fmt.Errorf("%w: event %d of %s, a %s with version %d: %w", ErrPayload, e.Seq, e.ID, t.name, max(e.Schema, 1), err)
	}
	return v, nil
}

// Current returns an event in the current version: an older payload is upcast and encoded again. It
// is for code that reads payloads instead of values. Events of unknown types are returned
// unchanged, unless they are rejected.
func (r *Registry) Current(e eventstore.Event) (eventstore.Event, error) {
	v, err := r.Decode(&e)
	if err != nil {
		return e, err
	}
	t := r.names[e.EventType]
	if t == nil || max(e.Schema, 1) == t.version {
		return e, nil
	}
	if e.Payload, err = t.form.codec.Encode(v); err != nil {
		return e, fmt.Errorf("%w: encode %s: %w", ErrPayload, t.name, err)
	}
	e.Schema = t.version
	return e, nil
}

// Read is Store.Read with decoded payloads. Skipped events are omitted. An error ends it.
func (r *Registry) Read(ctx context.Context, s *eventstore.Store, id eventstore.ID, options ...eventstore.ReadOption) iter.Seq2[Decoded, error] {
	return func(yield func(Decoded, error) bool) {
		for e, err := range s.Read(ctx, id, options...) {
			var data any
			if err == nil {
				data, err = r.Decode(&e)
			}
			if err != nil {
				yield(Decoded{}, err)
				return
			}
			if data != nil && !yield(Decoded{e, data}, nil) {
				return
			}
		}
	}
}
