package engine

import (
	"context"
	"fmt"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/onefold/onefold/engine/internal/store"
)

// DiskSpace is the known free space on the database's disk, in bytes.
type DiskSpace = store.Space

// DiskSpace returns the free space on the database's disk. It is not Known for a database in
// memory.
func (db *DB) DiskSpace() DiskSpace { return db.store.Space() }

// DiskSpaceAt returns the free space on the disk of an existing directory, compared with a reserve;
// see Options.DiskReserve. It is not Known if the file system does not report it.
func DiskSpaceAt(dir string, reserve int64) DiskSpace {
	return store.SpaceAt(vfs.Default, dir, reserve)
}

// Metrics are metrics of a database and its store.
type Metrics = store.Metrics

// Metrics returns the metrics of the database, within microseconds, or the zero value once it is
// closed.
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

// Probe checks that writes get through. It follows the path of a write with a few bytes for the
// log, which nothing reads, and returns when they are on disk. If the disk stalls, Probe waits as
// long, regardless of ctx. Errors: a dynamo.Failure of kind Full if items would be rejected,
// ErrFatal, ErrClosed.
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
