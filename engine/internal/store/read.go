package store

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/onefold/onefold/engine/internal/damage"
	"github.com/onefold/onefold/engine/internal/row"
)

// Read returns a copy of the value of a key, or nil.
func (s *Store) Read(key []byte) ([]byte, error) {
	v, closer, err := s.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("engine: read: %w", damage.Of(err))
	}
	return append([]byte{}, v...), closer.Close()
}

// Counter reads a counter. The default is first.
func (s *Store) Counter(key []byte, first uint64) (uint64, error) {
	v, err := s.Read(key)
	if err != nil || v == nil {
		return first, err
	}
	if len(v) != 8 {
		return 0, row.ErrCorrupt
	}
	return binary.BigEndian.Uint64(v), nil
}

// Each calls fn for every row whose key begins with prefix. The slices are valid only during the
// call.
func (s *Store) Each(prefix []byte, fn func(k, v []byte) error) (err error) {
	it, err := s.NewIter(&pebble.IterOptions{LowerBound: prefix, UpperBound: row.UpperBound(prefix)})
	if err != nil {
		return fmt.Errorf("engine: read: %w", err)
	}
	defer func() {
		if closed := damage.Of(it.Close()); err == nil {
			err = closed
		}
	}()
	for ok := it.First(); ok; ok = it.Next() {
		v, err := damage.Value(it)
		if err != nil {
			return err
		}
		if err := fn(it.Key(), v); err != nil {
			return err
		}
	}
	return damage.Of(it.Error())
}
