package warehouse

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"
)

// Compaction configures the joining of small files into larger ones.
type Compaction struct {
	Target  int64         // wanted size of a file in bytes; default 128 MB
	Settled time.Duration // time after the end of a day when all its small files are joined; default 6 hours
	AtOnce  int           // largest number of files joined at once; default 32
}

func (c Compaction) withDefaults() Compaction {
	if c.Target <= 0 {
		c.Target = 128 << 20
	}
	if c.Settled <= 0 {
		c.Settled = 6 * time.Hour
	}
	if c.AtOnce < 2 {
		c.AtOnce = 32
	}
	return c
}

// Compacted is the result of Compact.
type Compacted struct {
	Joined int `json:"joined"` // number of files that were replaced
	Made   int `json:"made"`   // number of files that replaced them
}

// Compact joins small files, with one commit per join. A day that ended at least Settled ago is
// left with files of about the target size. On later days, files of similar size are joined when
// there are many of them, so each row is rewritten only a few times. Concurrent readers continue in
// the file that replaced the one they were reading. Errors: those of the objects; the joins
// committed before an error stay.
func (w *Warehouse) Compact(ctx context.Context, c Compaction) (done Compacted, err error) {
	c = c.withDefaults()
	for _, p := range w.Partitions() {
		for {
			files := c.pick(w.In(p), w.now())
			if len(files) < 2 {
				break
			}
			made, err := w.join(ctx, p, files)
			if errors.Is(err, ErrConflict) || errors.Is(err, ErrNotFound) {
				err = w.Refresh(ctx) // another writer committed meanwhile: the rest is left for the next call
				if err == nil {
					break
				}
			}
			if err != nil {
				return done, fmt.Errorf("warehouse: compact %s: %w", p.Folder(), err)
			}
			done.Joined += len(files)
			done.Made += made
		}
	}
	return done, nil
}

// manyFiles is the number of files of similar size at which a day that is not settled has them
// joined.
const manyFiles = 8

// pick returns the files of a partition to join. With fewer than two files there is nothing to
// join.
func (c Compaction) pick(files []File, now time.Time) []File {
	if len(files) < 2 {
		return nil
	}
	day, err := time.Parse(time.DateOnly, files[0].Partition.Date)
	if err == nil && now.Sub(day.Add(24*time.Hour)) >= c.Settled {
		return c.settle(files)
	}
	for size := int64(64 << 10); size < c.Target; size *= manyFiles {
		var alike []File
		for _, f := range files {
			if f.Bytes < size && f.Bytes >= size/manyFiles || size == 64<<10 && f.Bytes < size {
				alike = append(alike, f)
			}
		}
		if len(alike) >= manyFiles {
			return alike[:min(len(alike), c.AtOnce)]
		}
	}
	return nil
}

// settle returns files that are neighbors in time and together no larger than the target: the
// longest run from the first small file.
func (c Compaction) settle(files []File) []File {
	var run []File
	size := int64(0)
	for _, f := range files {
		if f.Bytes >= c.Target/2 {
			continue
		}
		if len(run) == c.AtOnce || len(run) >= 2 && size+f.Bytes > c.Target {
			break
		}
		run = append(run, f)
		size += f.Bytes
	}
	return run
}

// join writes the rows of files as one file.
func (w *Warehouse) join(ctx context.Context, p Partition, files []File) (made int, err error) {
	base := w.Version()
	e := &Entry{Why: "compact"}
	sequences := make([]iter.Seq2[Row, error], len(files))
	want := int64(0)
	for i, f := range files {
		sequences[i] = w.Rows(ctx, f)
		e.Remove = append(e.Remove, f.Path)
		want += f.Rows
	}
	f, ok, err := w.WriteFile(ctx, p, Merge(sequences...))
	if err != nil {
		return 0, err
	}
	if !ok || f.Rows != want {
		return 0, errors.Join(fmt.Errorf("%w: %d of %d rows were read from %s", ErrDamaged, f.Rows, want, p.Folder()), w.Discard(ctx, f))
	}
	e.Add = []File{f}
	if err := w.Commit(ctx, base, e); err != nil {
		if errors.Is(err, ErrConflict) {
			err = errors.Join(err, w.Discard(ctx, f))
		}
		return 0, err
	}
	return 1, nil
}

// Discard deletes files that were written for a commit that was refused. It must not be called
// after another error, because the commit may have been written.
func (w *Warehouse) Discard(ctx context.Context, files ...File) error {
	var names []string
	for _, f := range files {
		if f.Path != "" {
			names = append(names, f.Path)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return w.objects.Delete(ctx, names...)
}
