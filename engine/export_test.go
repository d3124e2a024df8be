package engine

import (
	"errors"

	"github.com/cockroachdb/pebble/v2"

	"github.com/onefold/onefold/engine/internal/item"
)

// StoreOf returns the Pebble store of a database, so that a test can damage it.
func StoreOf(db *DB) *pebble.DB { return db.store.DB }

// LookAtDisk runs one step of the watch for writes that do not return.
func LookAtDisk(db *DB) { db.store.Look() }

// StoreUnder tries to store an item under the key of another item. It bypasses the earlier checks
// that would refuse it.
func StoreUnder(db *DB, table string, key, it item.Item) error {
	c := db.newCommit(1)
	s, err := c.enterTable(&table)
	if err != nil {
		return c.abandon(err)
	}
	at, err := s.AppendItemKey(nil, key)
	if err != nil {
		return c.abandon(err)
	}
	ch, err := c.loadChange(s, at, key)
	if err != nil {
		return c.abandon(err)
	}
	c.put(ch, it, item.Size(it))
	if err := c.stage(ch); err != nil {
		return c.abandon(err)
	}
	return errors.Join(errors.New("it was staged"), c.finish())
}

// ErrWrongKey is the error with which StoreUnder fails.
var ErrWrongKey = errWrongKey
