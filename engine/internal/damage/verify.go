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

// Verify reads the tables of rows in a directory and compares every block with its checksum. A backup's own sums
// only tell whether its files are still those that were written: a damaged file would be kept faithfully.
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
		if err := verifyTable(ctx, fs, fs.PathJoin(dir, name), o); err != nil {
			what, _, _ := strings.Cut(err.Error(), "\n")
			return fmt.Errorf("%w: %s: %s", row.ErrCorrupt, name, what)
		}
	}
	return nil
}

func verifyTable(ctx context.Context, fs vfs.FS, name string, o sstable.ReaderOptions) (err error) {
	f, err := fs.Open(name, vfs.SequentialReadsOption)
	if err != nil {
		return err
	}
	readable, err := sstable.NewSimpleReadable(f)
	if err != nil {
		return errors.Join(err, f.Close())
	}
	r, err := sstable.NewReader(ctx, readable, o)
	if err != nil {
		return errors.Join(err, readable.Close())
	}
	return errors.Join(r.ValidateBlockChecksums(), r.Close())
}
