package inspect

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/onefold/onefold/engine/internal/row"
)

// Rows iterates over rows in key order. Keys and values are valid until the next move.
type Rows interface {
	First() bool
	Last() bool
	Next() bool
	Prev() bool
	SeekGE(key []byte) bool
	Key() []byte
	ValueAndErr() ([]byte, error)
	Error() error
	Close() error
}

// Source opens the rows with lower <= key < upper in a snapshot of a store. nil means no bound.
type Source func(lower, upper []byte) (Rows, error)

// reader reads a source.
type reader struct {
	ctx    context.Context
	source Source
	lookup Rows // over all rows, for lookups
	passed int
	lost   func(error) // called for unreadable rows, after which reading continues; nil: reading fails
}

func newReader(ctx context.Context, source Source) (*reader, error) {
	lookup, err := source(nil, nil)
	if err != nil {
		return nil, fmt.Errorf("inspect: read: %w", err)
	}
	return &reader{ctx: ctx, source: source, lookup: lookup}, nil
}

func (r *reader) close() error { return r.lookup.Close() }

// get returns the value of a key, and whether the key exists. The value is valid until the next
// get.
func (r *reader) get(key []byte) (value []byte, found bool, err error) {
	if !r.lookup.SeekGE(key) || !bytes.Equal(r.lookup.Key(), key) {
		return nil, false, r.lookup.Error()
	}
	value, err = r.lookup.ValueAndErr()
	return value, err == nil, err
}

// pass is called for each row that is read. It returns an error when ctx has ended.
func (r *reader) pass() error {
	const between = 1 << 10 // rows between two checks of ctx
	if r.passed++; r.passed%between == 0 {
		return r.ctx.Err()
	}
	return nil
}

// each calls fn for all rows from lower to below upper. If lost is set, each ends without an error
// at an unreadable row, and continues if fn finds unreadable rows in lookups.
func (r *reader) each(lower, upper []byte, fn func(key, value []byte) error) error {
	return r.walk(lower, upper, Rows.First, Rows.Next, fn)
}

// eachBack is like each, in reverse order.
func (r *reader) eachBack(lower, upper []byte, fn func(key, value []byte) error) error {
	return r.walk(lower, upper, Rows.Last, Rows.Prev, fn)
}

func (r *reader) walk(lower, upper []byte, first, next func(Rows) bool, fn func(key, value []byte) error) (err error) {
	rows, err := r.source(lower, upper)
	if err != nil {
		return fmt.Errorf("inspect: read: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for ok := first(rows); ok; ok = next(rows) {
		value, err := rows.ValueAndErr()
		if err := r.survive(err); err != nil {
			return err
		}
		if err != nil {
			continue
		}
		if err := r.pass(); err != nil {
			return err
		}
		if err := r.survive(fn(rows.Key(), value)); err != nil {
			return err
		}
	}
	return r.survive(rows.Error())
}

// survive passes damage to lost, and returns other errors.
func (r *reader) survive(err error) error {
	if r.lost != nil && errors.Is(err, row.ErrCorrupt) {
		r.lost(err)
		return nil
	}
	return err
}
