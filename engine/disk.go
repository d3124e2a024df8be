package engine

import (
	"context"
	"fmt"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/onefold/onefold/engine/internal/store"
)

// DiskSpace is what is known of the room on the database's disk, in bytes.
type DiskSpace = store.Space

// DiskSpace looks how much room there is on the disk. It is not Known of a database in memory.
func (db *DB) DiskSpace() DiskSpace { return db.store.Space() }

// DiskSpaceAt looks how much room there is on the disk of a directory that exists, and compares it with a reserve; see
// Options.DiskReserve. It is not Known of a file system that does not tell.
func DiskSpaceAt(dir string, reserve int64) DiskSpace {
	return store.SpaceAt(vfs.Default, dir, reserve)
}

// Metrics are measurements of a database and of the store below it.
type Metrics = store.Metrics

// Metrics measures the database, in microseconds. Of one that is closed it returns the zero value.
func (db *DB) Metrics() Metrics {
	call, err := db.begin(context.Background())
	if err != nil {
		return Metrics{}
	}
	defer call.End()
	m := db.store.Measure()
	m.CommitsWaiting = db.unsaved.Load()
	return m
}

// Probe finds out whether a write gets through: it takes the way of one, with a few bytes for the log, and returns when they
// are on disk. Nothing reads them. When the disk stalls it takes as long as that, whatever ctx says. Errors: a
// dynamo.Failure of the kind Full when items would be refused, ErrFatal, ErrClosed.
func (db *DB) Probe(ctx context.Context) error {
	call, err := db.begin(ctx)
	if err != nil {
		return err
	}
	defer call.End()
	if err := db.store.Admit(store.Growth, 0); err != nil {
		return fmt.Errorf("engine: probe: %w", err)
	}
	db.order.Lock() // as every write to a stream does
	defer db.order.Unlock()
	if db.memory {
		return nil
	}
	return db.syncLog()
}
