package engine

import (
	"context"

	"github.com/onefold/onefold/engine/internal/store"
)

type (
	// ScrubOptions say what a scrub reads, and how fast.
	ScrubOptions = store.ScrubOptions
	// Scrubbed is a file that a scrub has read.
	Scrubbed = store.Scrubbed
)

// Scrub reads the files of rows, the oldest first, as they are on the disk, and compares every block with its checksum, so that
// damage of what nobody reads is found while there is a backup of it. It may run while the database is in use. What it finds is
// logged, counted in Metrics, and told to Each. Check finds what does not agree though its checksums fit. A database in memory
// has no files on a disk: there is nothing to read. Errors: ErrClosed, ErrFatal, ctx's.
func (db *DB) Scrub(ctx context.Context, o ScrubOptions) error {
	ctx, done, err := db.operate(ctx)
	if err != nil {
		return err
	}
	defer done()
	if db.memory {
		return nil
	}
	return db.store.Scrub(ctx, o)
}
