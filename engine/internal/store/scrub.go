package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"github.com/onefold/onefold/engine/internal/damage"
	"github.com/onefold/onefold/engine/internal/row"
)

// ScrubOptions determine what a scrub reads, and how fast.
type ScrubOptions struct {
	After          uint64         // skip files up to this number, which an earlier scrub has read; default none
	BytesPerSecond int64          // maximum rate; default unlimited
	Each           func(Scrubbed) // called after each file, unless nil
}

// Scrubbed is a file read by a scrub.
type Scrubbed struct {
	Number uint64 // later files have greater numbers
	Name   string // relative to the database's directory
	Bytes  int64
	Damage error // nil if all blocks match their checksums
	Left   int64 // bytes of the files still to be read
}

// mostBytes is the maximum number of bytes per read of a rate-limited scrub.
const mostBytes = 256 << 10

// Scrub reads the row files on disk, oldest first, and verifies the checksum of every block. It
// needs no lock: it skips files that a compaction replaces in the meantime, and files written after
// it began. The error is that of ctx.
func (s *Store) Scrub(ctx context.Context, o ScrubOptions) error {
	files, left, err := s.filesAfter(o.After)
	if err != nil {
		return fmt.Errorf("engine: scrub: %w", err)
	}
	for _, f := range files {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := damage.Table(ctx, s.disk.FS, s.disk.PathJoin(s.disk.dir, f.Name), s.tables, pace(ctx, o.BytesPerSecond))
		if ctx.Err() != nil {
			return ctx.Err()
		}
		left -= f.Bytes
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if f.Left = left; err != nil {
			what, _, _ := strings.Cut(err.Error(), "\n")
			f.Damage = fmt.Errorf("%w: %s: %s", row.ErrCorrupt, f.Name, what)
			s.damaged.Scrubbed(f.Name, err)
		}
		if o.Each != nil {
			o.Each(f)
		}
	}
	return nil
}

// filesAfter returns the row files in use with greater numbers, in ascending order, and their total
// size.
func (s *Store) filesAfter(number uint64) (files []Scrubbed, bytes int64, err error) {
	levels, err := s.SSTables()
	if err != nil {
		return nil, 0, err
	}
	byNumber := map[uint64]Scrubbed{} // tables may share a file
	for _, level := range levels {
		for i := range level {
			t := &level[i]
			n := uint64(t.BackingSSTNum)
			if n <= number {
				continue
			}
			f := byNumber[n]
			f.Number, f.Name, f.Bytes = n, t.BackingSSTNum.String()+".sst", f.Bytes+int64(t.Size)
			byNumber[n] = f
		}
	}
	files = slices.SortedFunc(maps.Values(byNumber), func(a, b Scrubbed) int { return cmp.Compare(a.Number, b.Number) })
	for i := range files {
		bytes += files[i].Bytes
	}
	return files, bytes, nil
}

// pace returns a function that waits before each read to limit the rate. It returns nil if there is
// no limit.
func pace(ctx context.Context, perSecond int64) func(int) error {
	if perSecond <= 0 {
		return nil
	}
	limit := rate.NewLimiter(rate.Limit(perSecond), mostBytes)
	limit.AllowN(time.Now(), mostBytes) // start with an empty bucket
	return func(bytes int) error {
		for ; bytes > 0; bytes -= mostBytes {
			if err := limit.WaitN(ctx, min(bytes, mostBytes)); err != nil {
				return err
			}
		}
		return nil
	}
}
