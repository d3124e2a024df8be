package engine

import "github.com/cockroachdb/pebble/v2"

// StoreOf returns the store of a database, so that a test can damage it.
func StoreOf(db *DB) *pebble.DB { return db.store }
