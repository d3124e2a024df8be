package analyticsbench

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/onefold/onefold/engine"
)

const (
	rawEvents   = 100_000
	busyEvents  = 30_000
	busyBatch   = 2_500 // what comes at 10,000 events a second until the folds write
	quietEvents = 600
	quietBatch  = 3
)

// size measures what an event takes on disk and in write units.
func (b *bench) size(ctx context.Context, dir string) ([]Result, error) {
	bytes, err := b.rawBytes(ctx, filepath.Join(dir, "raw"))
	if err != nil {
		return nil, err
	}
	busy, err := b.units(ctx, filepath.Join(dir, "busy"), busyEvents, busyBatch)
	if err != nil {
		return nil, err
	}
	quiet, err := b.units(ctx, filepath.Join(dir, "quiet"), quietEvents, quietBatch)
	return []Result{
		{Name: "a raw event on disk", Unit: "bytes", Value: bytes, Goal: 120, Most: true},
		{Name: fmt.Sprintf("an event of three of a visit, folded with %d others", busyBatch-1), Unit: "write units", Value: busy, Goal: 2, Most: true},
		{Name: fmt.Sprintf("an event of three of a visit, folded with %d others", quietBatch-1), Unit: "write units", Value: quiet},
	}, err
}

// rawBytes are the bytes of the table's files an event, before anything is folded.
func (b *bench) rawBytes(ctx context.Context, dir string) (float64, error) {
	s, err := b.o.Open(ctx, dir)
	if err != nil {
		return 0, err
	}
	bytes, err := func() (float64, error) {
		if err := s.Site(ctx, liveSite); err != nil {
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

// tableBytes compacts a database and returns the bytes that its tables take on disk, without streams.
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

// units are the write units of an event and all that is derived from it, when so many are folded at once.
func (b *bench) units(ctx context.Context, dir string, events, batch int) (float64, error) {
	s, err := b.o.Open(ctx, dir)
	if err != nil {
		return 0, err
	}
	var before, after float64
	err = s.Site(ctx, liveSite)
	if err == nil {
		before = writeUnits(s.DB)
		err = s.Folding(ctx, func(ctx context.Context) error {
			now := time.Now()
			return fill(ctx, s, liveSite, events, livePages, batch, now.Add(-time.Hour), now, func() error { return s.Worker.Drain(ctx) })
		})
		after = writeUnits(s.DB)
	}
	return (after - before) / float64(events), errors.Join(err, s.DB.Close())
}

func writeUnits(db *engine.DB) (units float64) {
	for _, t := range db.Metered().Tables {
		for _, e := range t.Entities {
			units += e.WriteUnits
		}
	}
	return units
}
