package eventstore

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// Secrets hide parts of events and states from readers of the table: they seal them before they are
// stored and open them when read. All functions are required. Package shred implements Secrets.
type Secrets struct {
	// Seal seals the events of an append to one aggregate. They have IDs, but no numbers yet.
	Seal func(ctx context.Context, events []Event) error
	// Open opens an event.
	Open func(ctx context.Context, e *Event) error
	// Bare removes the sealed values of an event. The rest is the same whenever equal events are
	// sealed.
	Bare func(e *Event) error
	// Tag returns a keyed hash of the sealed fields of an event, or nil if there are none. Equal
	// fields in appends with the same commit ID have equal tags. ok is false if a key is gone.
	Tag func(ctx context.Context, e *Event) (tag []byte, ok bool, err error)
	// SealState seals the state of a snapshot whose events were opened since the given time, zero
	// if unknown. ok is false if the state must not be stored, because its events are to be erased.
	SealState func(ctx context.Context, id ID, since time.Time, state Payload) (sealed Payload, ok bool, err error)
	// OpenState opens a state. ok is false if it cannot be opened any more; the snapshot is then
	// ignored.
	OpenState func(ctx context.Context, id ID, state Payload) (opened Payload, ok bool, err error)
	// SealSecret encrypts the table's secret with a master key, and returns that key's name.
	// OpenSecret decrypts it.
	SealSecret func(ctx context.Context, secret []byte) (wrapped []byte, master string, err error)
	OpenSecret func(ctx context.Context, wrapped []byte, master string) (secret []byte, err error)
}

// AsStored yields events as stored in the table, without opening sealed fields.
func AsStored() ReadOption { return func(r *reading) { r.asStored = true } }

// Open opens an event that does not come from Read, for example from the change stream.
func (s *Store) Open(ctx context.Context, e *Event) error {
	if s.o.Secrets == nil {
		return nil
	}
	if err := s.o.Secrets.Open(ctx, e); err != nil {
		return fmt.Errorf("decrypt event %d: %w", e.Seq, err)
	}
	return nil
}

// seal seals the events of all parts by the current rules, which hold for as long as an attempt may
// take. A store without secrets gets ErrUnsealed if the events have personal fields.
func (j *multiAppend) seal(ctx context.Context) error {
	for i, a := range j.parts {
		if len(j.plain) == i {
			j.plain = append(j.plain, a.events)
		}
		a.events = slices.Clone(j.plain[i])
	}
	j.sealed = j.s.t.Now()
	err := j.sealEach(ctx)
	for _, a := range j.parts {
		if err == nil && a.named {
			a.content, err = j.s.content(ctx, a.id, a.events, a.dated)
		}
	}
	j.unsealable = err != nil
	return err
}

func (j *multiAppend) sealEach(ctx context.Context) error {
	if j.s.o.Secrets == nil {
		return j.s.unsealed(ctx, func(r PersonalRule) bool {
			return slices.ContainsFunc(j.parts, func(a *appending) bool {
				return slices.ContainsFunc(a.events, func(e Event) bool { return e.EventType == r.Event })
			})
		})
	}
	for _, a := range j.parts {
		if err := j.s.o.Secrets.Seal(ctx, a.events); err != nil {
			return fmt.Errorf("encrypt events: %w", err)
		}
	}
	return nil
}

func (s *Store) sealState(ctx context.Context, id ID, since time.Time, state Payload) (Payload, bool, error) {
	if s.o.Secrets == nil {
		return state, true, s.unsealed(ctx, func(PersonalRule) bool { return true })
	}
	return s.o.Secrets.SealState(ctx, id, since, state)
}

// OpenState opens the state of a snapshot that does not come from Load. ok is false if it cannot be
// opened any more.
func (s *Store) OpenState(ctx context.Context, id ID, state Payload) (Payload, bool, error) {
	if s.o.Secrets == nil {
		return state, true, nil
	}
	return s.o.Secrets.OpenState(ctx, id, state)
}

// WithSecrets returns another store on the table with the same options but these secrets.
func (s *Store) WithSecrets(secrets *Secrets) (*Store, error) {
	o := s.o
	o.Secrets = secrets
	return New(s.t, o)
}
