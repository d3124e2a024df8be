package engine

import (
	"context"

	"github.com/onefold/onefold/engine/internal/store"
)

type (
	// ScrubOptions determine what a scrub reads, and how fast.
	ScrubOptions = store.ScrubOptions
	// Scrubbed is a file read by a scrub.
	Scrubbed = store.Scrubbed
)

// Scrub reads the row files on disk, oldest first, and verifies the checksum of every block, so
// that damage to rarely read data is found while backups of it exist. It may run while the database
// is in use. Damage is logged, counted in Metrics and passed to Each. Inconsistent data with valid
// checksums is found by Check. For a database in memory Scrub does nothing. Errors: ErrClosed,
// ErrFatal, and that of ctx.
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
