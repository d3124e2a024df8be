package inspect

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/onefold/onefold/engine/internal/row"
)

// Rows goes through rows in the order of their keys. What it returns is valid until it moves.
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

// Source opens the rows whose keys are from lower to below upper, of a store as it was at one moment. nil is no bound.
type Source func(lower, upper []byte) (Rows, error)

// reader reads a source.
type reader struct {
	ctx    context.Context
	source Source
	lookup Rows // of all rows, for finding one
	passed int
	lost   func(error) // told of rows that cannot be read, after which it goes on; nil: it does not
}

func newReader(ctx context.Context, source Source) (*reader, error) {
	lookup, err := source(nil, nil)
	if err != nil {
		return nil, fmt.Errorf("inspect: read: %w", err)
	}
	return &reader{ctx: ctx, source: source, lookup: lookup}, nil
}

func (r *reader) close() error { return r.lookup.Close() }

// get returns the value of a key; found says whether there is one. It is valid until the next get.
func (r *reader) get(key []byte) (value []byte, found bool, err error) {
	if !r.lookup.SeekGE(key) || !bytes.Equal(r.lookup.Key(), key) {
		return nil, false, r.lookup.Error()
	}
	value, err = r.lookup.ValueAndErr()
	return value, err == nil, err
}

// pass is called for each row that is read, and says when to stop.
func (r *reader) pass() error {
	const between = 1 << 10 // rows between two looks whether anybody still wants to know
	if r.passed++; r.passed%between == 0 {
		return r.ctx.Err()
	}
	return nil
}

// each calls fn for the rows from lower to below upper. With lost, it ends early, without an error, at rows that cannot be
// read, and goes on after a row that fn cannot look up others for.
func (r *reader) each(lower, upper []byte, fn func(key, value []byte) error) error {
	return r.walk(lower, upper, Rows.First, Rows.Next, fn)
}

// eachBack is each in the other order.
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

// survive tells of what cannot be read, and returns any other error.
func (r *reader) survive(err error) error {
	if r.lost != nil && errors.Is(err, row.ErrCorrupt) {
		r.lost(err)
		return nil
	}
	return err
}
