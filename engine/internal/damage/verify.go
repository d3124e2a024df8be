package damage

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/onefold/onefold/engine/internal/row"
)

// Verify reads the row files in a directory and compares the checksum of every block. The checksums
// of a backup do not replace it: they only show that files are unchanged since the backup, so
// damage would be preserved faithfully.
func Verify(ctx context.Context, fs vfs.FS, dir string, o sstable.ReaderOptions) error {
	names, err := fs.List(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		if !strings.HasSuffix(name, ".sst") {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := Table(ctx, fs, fs.PathJoin(dir, name), o, nil); err != nil {
			what, _, _ := strings.Cut(err.Error(), "\n")
			return fmt.Errorf("%w: %s: %s", row.ErrCorrupt, name, what)
		}
	}
	return nil
}

// Table verifies the checksum of every block of a row file. It first drops the file from the
// operating system's cache, so that the disk itself is read. pace is called with the number of
// bytes before each read and may wait; it may be nil.
func Table(ctx context.Context, fs vfs.FS, name string, o sstable.ReaderOptions, pace func(bytes int) error) (err error) {
	f, err := fs.Open(name, vfs.SequentialReadsOption)
	if err != nil {
		return err
	}
	forget(f.Fd())
	defer forget(f.Fd()) // nothing else uses it
	readable, err := sstable.NewSimpleReadable(paced{f, pace})
	if err != nil {
		return errors.Join(err, f.Close())
	}
	r, err := sstable.NewReader(ctx, readable, o)
	if err != nil {
		return errors.Join(err, readable.Close())
	}
	return errors.Join(r.ValidateBlockChecksums(), r.Close())
}

// paced is a file with rate-limited reads.
type paced struct {
	vfs.File
	pace func(bytes int) error
}

// ReadAt implements io.ReaderAt.
func (f paced) ReadAt(p []byte, at int64) (int, error) {
	if f.pace != nil {
		if err := f.pace(len(p)); err != nil {
			return 0, err
		}
	}
	return f.File.ReadAt(p, at)
}
