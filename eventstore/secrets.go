package eventstore

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// Secrets keep parts of what is said from whoever sees the table: they change events and states before they are stored, and
// back when they are read. Every function is needed. Package shred makes one.
type Secrets struct {
	// Seal changes the events of an append to one aggregate, which have their ids, but no numbers yet.
	Seal func(ctx context.Context, events []Event) error
	// Open changes an event back.
	Open func(ctx context.Context, e *Event) error
	// Bare takes out of an event what of it is sealed, and leaves what is the same whenever the same event is sealed.
	Bare func(e *Event) error
	// Tag is a keyed hash of what of an event is sealed, the same whenever the same is sealed in an append of the same commit id, and nil if nothing is. Not ok:
	// a key that it takes is gone.
	Tag func(ctx context.Context, e *Event) (tag []byte, ok bool, err error)
	// SealState changes the state of a snapshot whose events were opened since a time, zero if that is not known. Not ok: it
	// must not be kept, as what it is made of is to be forgotten.
	SealState func(ctx context.Context, id ID, since time.Time, state Payload) (sealed Payload, ok bool, err error)
	// OpenState changes it back. Not ok: it cannot be opened any more, and the snapshot is as if it were not there.
	OpenState func(ctx context.Context, id ID, state Payload) (opened Payload, ok bool, err error)
	// SealSecret encrypts the secret of the table with a master key, and returns the name of that. OpenSecret decrypts it.
	SealSecret func(ctx context.Context, secret []byte) (wrapped []byte, master string, err error)
	OpenSecret func(ctx context.Context, wrapped []byte, master string) (secret []byte, err error)
}

// AsStored reads events as they are in the table: what Options.Secrets have sealed stays so.
func AsStored() ReadOption { return func(r *reading) { r.asStored = true } }

// Open opens an event that did not come from Read, such as one of the change stream, with Options.Secrets.
func (s *Store) Open(ctx context.Context, e *Event) error {
	if s.o.Secrets == nil {
		return nil
	}
	if err := s.o.Secrets.Open(ctx, e); err != nil {
		return fmt.Errorf("open event %d: %w", e.Seq, err)
	}
	return nil
}

// seal seals the events of all parts by the rules of now, which hold for as long as an attempt may take. A store that cannot is refused where the table
// has it that something in them is personal.
func (j *joint) seal(ctx context.Context) error {
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
	j.refused = err != nil
	return err
}

func (j *joint) sealEach(ctx context.Context) error {
	if j.s.o.Secrets == nil {
		return j.s.unsealed(ctx, func(r PersonalRule) bool {
			return slices.ContainsFunc(j.parts, func(a *appending) bool {
				return slices.ContainsFunc(a.events, func(e Event) bool { return e.EventType == r.Event })
			})
		})
	}
	for _, a := range j.parts {
		if err := j.s.o.Secrets.Seal(ctx, a.events); err != nil {
			return fmt.Errorf("seal events: %w", err)
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

// OpenState opens the state of a snapshot that did not come from Load. Not ok: it cannot be opened any more.
func (s *Store) OpenState(ctx context.Context, id ID, state Payload) (Payload, bool, error) {
	if s.o.Secrets == nil {
		return state, true, nil
	}
	return s.o.Secrets.OpenState(ctx, id, state)
}
