package analyticsbench

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/onefold/onefold/cmd/onefold-bench/internal/workbench"
	"github.com/onefold/onefold/engine"
)

const rawEvents = 100_000

// size measures the disk space of an event and of a year of statistics, and the write units of an
// event.
func (b *bench) size(ctx context.Context, dir string) ([]workbench.Result, error) {
	bytes, err := b.rawBytes(ctx, filepath.Join(dir, "raw"))
	if err != nil {
		return nil, err
	}
	results := []workbench.Result{{Name: "a raw event on disk", Unit: "bytes", Value: bytes, Goal: 40, Most: true}}
	years, err := b.years(ctx, filepath.Join(dir, "years"))
	if err != nil {
		return nil, err
	}
	live, err := b.live(ctx, filepath.Join(dir, "live"))
	return append(append(results, years...), live...), err
}

// rawBytes returns the bytes per event in the table's files before anything is folded.
func (b *bench) rawBytes(ctx context.Context, dir string) (float64, error) {
	s, err := b.o.Open(ctx, dir, workbench.Time{})
	if err != nil {
		return 0, err
	}
	bytes, err := func() (float64, error) {
		if err := addSite(ctx, s, liveSite); err != nil {
			return 0, err
		}
		now := time.Now()
		if err := fill(ctx, s, liveSite, rawEvents, livePages, fillBatch, now.Add(-24*time.Hour), now, func() error { return nil }); err != nil {
			return 0, err
		}
		disk, err := tableBytes(ctx, s.DB)
		return disk / rawEvents, err
	}()
	return bytes, errors.Join(err, s.DB.Close())
}

// tableBytes compacts a database and returns the size of its tables on disk, without streams.
func tableBytes(ctx context.Context, db *engine.DB) (total float64, err error) {
	if err := db.Compact(ctx); err != nil {
		return 0, err
	}
	sizes, err := db.Sizes(ctx, false)
	if err != nil {
		return 0, err
	}
	for _, t := range sizes.Tables {
		total += float64(t.Disk + t.Expiry.Disk)
		for _, x := range t.Indexes {
			total += float64(x.Disk)
		}
	}
	return total, nil
}
