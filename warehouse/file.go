package warehouse

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"os"

	"github.com/oklog/ulid/v2"
	"github.com/parquet-go/parquet-go"
)

// File is a file of rows that the log names. A file never changes.
type File struct {
	Path    string `json:"path"`
	Rows    int64  `json:"rows"`
	Facts   int64  `json:"facts"` // number of different facts: a reading may have several rows
	Bytes   int64  `json:"bytes"`
	Min     int64  `json:"min"`               // time of the first row, in epoch milliseconds
	Max     int64  `json:"max"`               // time of the last row, in epoch milliseconds
	Expires int64  `json:"expires,omitempty"` // time from which none of its raw facts may be left in the table, in epoch milliseconds; 0 means never
	SHA256  string `json:"sha256"`

	Partition Partition `json:"-"` // given by the path
}

// has reports whether the file may have rows with times in [from, to].
func (f *File) has(from, to int64) bool { return f.Min <= to && f.Max >= from }

// WriteFile stores sorted rows of a partition as a file. The file counts only after a commit has
// added it. Without rows, no file is written and ok is false. Errors: those of the rows and the
// objects.
func (w *Warehouse) WriteFile(ctx context.Context, p Partition, rows iter.Seq2[Row, error]) (f File, ok bool, err error) {
	temp, discard, err := tempFile(w.temp)
	if err != nil {
		return f, false, fmt.Errorf("warehouse: %w", err)
	}
	defer func() { err = errors.Join(err, discard()) }()
	id, err := ulid.New(ulid.Timestamp(w.now()), rand.Reader)
	if err != nil {
		return f, false, fmt.Errorf("warehouse: %w", err)
	}
	f = File{Path: p.Folder() + "/" + id.String() + extension, Partition: p}
	sum := sha256.New()
	if err := forms[p.Dataset].write(io.MultiWriter(temp, sum), f.counting(rows)); err != nil || f.Rows == 0 {
		return f, false, err
	}
	f.SHA256 = hex.EncodeToString(sum.Sum(nil))
	if f.Bytes, err = temp.Seek(0, io.SeekCurrent); err != nil {
		return f, false, fmt.Errorf("warehouse: %w", err)
	}
	if _, err := temp.Seek(0, io.SeekStart); err != nil {
		return f, false, fmt.Errorf("warehouse: %w", err)
	}
	if err := w.objects.Put(ctx, f.Path, temp); err != nil {
		return f, false, fmt.Errorf("warehouse: write %s: %w", f.Path, err)
	}
	return f, true, nil
}

// tempFile creates a file in a folder. It has no name there, where the system allows that, so that a
// process that is killed leaves no rows behind, which erasure would not find. The caller must call
// discard.
func tempFile(dir string) (f *os.File, discard func() error, err error) {
	f, err = os.CreateTemp(dir, "onefold-*"+extension)
	if err != nil {
		return nil, nil, err
	}
	if os.Remove(f.Name()) == nil {
		return f, f.Close, nil
	}
	return f, func() error { return errors.Join(f.Close(), os.Remove(f.Name())) }, nil
}

// counting fills in the file's counts while rows pass through, and refuses rows that are out of
// order or duplicated.
func (f *File) counting(rows iter.Seq2[Row, error]) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		var last Key
		never := false
		for r, err := range rows {
			if err == nil {
				k := r.Key()
				if f.Rows > 0 && last.Compare(k) >= 0 {
					err = fmt.Errorf("warehouse: write: row %v comes after %v", k, last)
				}
				if f.Rows == 0 {
					f.Min = k.At
				}
				if f.Rows == 0 || k.At != last.At || k.ID != last.ID {
					f.Facts++
				}
				f.Max, last = k.At, k
				f.Rows++
				never = never || r.Expires() == 0
				f.Expires = max(f.Expires, r.Expires())
			}
			if !yield(r, err) || err != nil {
				return
			}
		}
		if never {
			f.Expires = 0
		}
	}
}

// firstTime and lastTime are the bounds of a range that includes every time.
const (
	firstTime = math.MinInt64
	lastTime  = math.MaxInt64
)

// Rows yields the rows of a file in order. Errors: ErrNotFound if the file was removed meanwhile;
// ErrDamaged.
func (w *Warehouse) Rows(ctx context.Context, f File) iter.Seq2[Row, error] {
	return w.rows(ctx, f, forms[f.Partition.Dataset], firstTime, lastTime)
}

// Keys yields the keys of a file's rows, as Rows does. It skips row groups that have no times in
// [from, to].
func (w *Warehouse) Keys(ctx context.Context, f File, from, to int64) iter.Seq2[Row, error] {
	return w.rows(ctx, f, keyForms[f.Partition.Dataset], from, to)
}

func (w *Warehouse) rows(ctx context.Context, f File, as form, from, to int64) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		object, err := w.objects.Open(ctx, f.Path)
		if err != nil {
			yield(nil, err)
			return
		}
		defer object.Close()
		if object.Size() != f.Bytes {
			yield(nil, fmt.Errorf("%w: %s has %d bytes, not %d", ErrDamaged, f.Path, object.Size(), f.Bytes))
			return
		}
		p, err := openParquet(object, object.Size())
		if err != nil {
			yield(nil, fmt.Errorf("%w: %s: %w", ErrDamaged, f.Path, err))
			return
		}
		for r, err := range as.read(p, from, to) {
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				yield(nil, fmt.Errorf("warehouse: read %s: %w", f.Path, err))
				return
			}
			if !yield(r, nil) {
				return
			}
		}
	}
}

// openParquet opens a Parquet file. Bytes that make the Parquet reader panic give an error.
func openParquet(r io.ReaderAt, size int64, options ...parquet.FileOption) (f *parquet.File, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("not a Parquet file: %v", r)
		}
	}()
	return parquet.OpenFile(r, size, append(options, parquet.SkipBloomFilters(true))...)
}

// ColumnsOf returns the names of the columns of a file on a disk. Files that were written before a
// column was introduced lack it. Errors: ErrDamaged, those of the file system.
func ColumnsOf(name string) (names []string, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("warehouse: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("warehouse: %w", err)
	}
	p, err := openParquet(f, info.Size(), parquet.SkipPageIndex(true))
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrDamaged, name, err)
	}
	for _, c := range p.Root().Columns() {
		names = append(names, c.Name())
	}
	return names, nil
}

// Verify compares a file with its entry in the log. Errors: ErrDamaged, ErrNotFound.
func (w *Warehouse) Verify(ctx context.Context, f File) error {
	object, err := w.objects.Open(ctx, f.Path)
	if errors.Is(err, ErrNotFound) {
		return &damage{f.Path, "is missing", ErrNotFound}
	}
	if err != nil {
		return err
	}
	defer object.Close()
	if object.Size() != f.Bytes {
		return &damage{f.Path, fmt.Sprintf("has %d bytes, not %d", object.Size(), f.Bytes), ErrDamaged}
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, io.NewSectionReader(object, 0, object.Size())); err != nil {
		return fmt.Errorf("warehouse: read %s: %w", f.Path, err)
	}
	if hex.EncodeToString(sum.Sum(nil)) != f.SHA256 {
		return &damage{f.Path, "is not what was written", ErrDamaged}
	}
	return nil
}

// damage describes what is wrong with a file.
type damage struct {
	path, what string
	kind       error
}

func (d *damage) Error() string { return "damaged: " + d.path + " " + d.what }
func (d *damage) Unwrap() error { return d.kind }
