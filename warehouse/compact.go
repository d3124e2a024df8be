package warehouse

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"
)

// Compaction says what files are made of many small ones.
type Compaction struct {
	Target  int64         // bytes that a file should have; default 128 MB
	Settled time.Duration // age of a day's end at which all its small files are joined; default 6 hours
	AtOnce  int           // files that are joined at a time, at most; default 32
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

// Compacted is what Compact did.
type Compacted struct {
	Joined int `json:"joined"` // files that are gone
	Made   int `json:"made"`   // files that are there instead
}

// Compact joins small files, a commit each. Days that are over for long enough are left with files of about the target; of
// others files of about one size are joined when there are many, so that every row is written again but a few times.
// Who reads meanwhile reads on in what replaced a file. Errors: those of the objects; what was done is done.
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
				err = w.Refresh(ctx) // another was here: whatever is left is for the next time
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

// manyFiles of about one size are joined in days that are not settled.
const manyFiles = 8

// pick returns files of a partition that are to be joined; less than two: none.
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

// settle picks neighbours in time that are not more than a target together, the longest run from the first.
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

// join writes the rows of files as one.
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
		return 0, errors.Join(fmt.Errorf("%w: %d rows of %d came out of %s", ErrDamaged, f.Rows, want, p.Folder()), w.Discard(ctx, f))
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

// Discard deletes files that were written for a commit that is refused. Never after another error: the commit may be there.
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
