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

// ScrubOptions say what a scrub reads, and how fast.
type ScrubOptions struct {
	After          uint64         // files up to this number are left out: an earlier scrub got so far. Default: none
	BytesPerSecond int64          // at most; default: as fast as the disk
	Each           func(Scrubbed) // called after each file, if there is one
}

// Scrubbed is a file that a scrub has read.
type Scrubbed struct {
	Number uint64 // later files have larger ones
	Name   string // below the database's directory
	Bytes  int64
	Damage error // nil: each of its blocks fits its checksum
	Left   int64 // bytes of the files that are still to be read
}

// mostBytes are read at once when a scrub has a pace.
const mostBytes = 256 << 10

// Scrub reads the files of rows, the oldest first, as they are on the disk, and compares every block with its checksum. It
// needs no lock: a file that a compaction replaces meanwhile is left out, as are those written since it began. The error is ctx's.
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

// filesAfter are the files of rows that are in use and have larger numbers, the smallest first, and how many bytes they have.
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

// pace waits before bytes are read, so that no more of them are in a second; nil: for nothing.
func pace(ctx context.Context, perSecond int64) func(int) error {
	if perSecond <= 0 {
		return nil
	}
	limit := rate.NewLimiter(rate.Limit(perSecond), mostBytes)
	limit.AllowN(time.Now(), mostBytes) // it begins with none
	return func(bytes int) error {
		for ; bytes > 0; bytes -= mostBytes {
			if err := limit.WaitN(ctx, min(bytes, mostBytes)); err != nil {
				return err
			}
		}
		return nil
	}
}
