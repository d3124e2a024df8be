package eventstore

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/onefold/onefold/table"
)

// ReadOption restricts a read.
type ReadOption func(*reading)

// From starts with event n, from 1.
func From(n int64) ReadOption { return func(r *reading) { r.from = max(n, 1) } }

// To ends with event n.
func To(n int64) ReadOption { return func(r *reading) { r.to, r.ends = n, true } }

// AsOf ends before the first event that was recorded after a time. It cannot be combined with
// Backwards.
func AsOf(at time.Time) ReadOption { return func(r *reading) { r.asOf = at } }

// Backwards yields the last event first.
func Backwards() ReadOption { return func(r *reading) { r.back = true } }

// Kept skips truncated events, even if Options.Archive has them.
func Kept() ReadOption { return func(r *reading) { r.keptOnly = true } }

type reading struct {
	from, to int64
	ends     bool
	asOf     time.Time
	back     bool
	verified bool
	asStored bool
	keptOnly bool // skip truncated events silently
}

// Read yields the events of a stream in order, page by page, with consistent reads: everything
// appended before it began is included. A stream that does not exist has no events. Errors: ErrHole
// if the first or an inner event is missing; ErrTruncated; ErrInvalid; ErrChain; those of the
// store. An error ends the read.
func (s *Store) Read(ctx context.Context, id ID, options ...ReadOption) iter.Seq2[Event, error] {
	r := reading{from: 1}
	for _, o := range options {
		o(&r)
	}
	return func(yield func(Event, error) bool) {
		for e, err := range s.each(ctx, id, r) {
			if !yield(*e, err) {
				return
			}
		}
	}
}

// each is Read with events that are valid until the next one, because copying events costs as much as
// decoding them.
func (s *Store) each(ctx context.Context, id ID, r reading) iter.Seq2[*Event, error] {
	return func(yield func(*Event, error) bool) {
		if err := r.run(ctx, s, id, yield); err != nil {
			yield(&Event{}, fmt.Errorf("eventstore: read %s: %w", shorten(id.String()), err))
		}
	}
}

func (r *reading) check(id ID) error {
	if r.back && (!r.asOf.IsZero() || r.verified) {
		return fmt.Errorf("%w: AsOf and Verified cannot be combined with Backwards", ErrInvalid)
	}
	return id.check()
}

func (r *reading) run(ctx context.Context, s *Store, id ID, yield func(*Event, error) bool) error {
	if err := r.check(id); err != nil || r.ends && r.to < r.from {
		return err
	}
	p := &pass{reading: *r, s: s, id: id, yield: yield}
	return p.run(ctx)
}

// Head returns the version and state of a stream. Errors: table.ErrNotFound if it was never
// appended to.
func (s *Store) Head(ctx context.Context, id ID) (Head, error) {
	if err := id.check(); err != nil {
		return Head{}, err
	}
	h, err := HeadByID.Get(ctx, s.t, id)
	if err != nil && !errors.Is(err, table.ErrNotFound) {
		err = fmt.Errorf("eventstore: head of %s: %w", id, err)
	}
	return h, err
}
