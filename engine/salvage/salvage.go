package salvage

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"syscall"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/onefold/onefold/engine/internal/backup"
	"github.com/onefold/onefold/engine/internal/catalog"
	"github.com/onefold/onefold/engine/internal/layout"
	"github.com/onefold/onefold/engine/internal/store"
)

var (
	// ErrNoDatabase is returned if a directory contains no files of a database.
	ErrNoDatabase = errors.New("salvage: no database in the directory")
	// ErrNotEmpty is returned if the target directory is not empty.
	ErrNotEmpty = backup.ErrNotEmpty
	// ErrInUse is returned if the database is open, in this process or another.
	ErrInUse = store.ErrInUse
)

// Options configures Run. The zero value is a good default.
type Options struct {
	Report   func(Loss)              // called for each Loss
	Progress func(done, total int64) // called with the number of bytes read
	FS       vfs.FS                  // file system; default the operating system's
}

// Memory used by the new store and the scratch store.
const (
	cacheBytes    = 64 << 20
	memTableBytes = 32 << 20
)

// Run creates a database, in a directory that must be empty or absent, from everything readable in
// a damaged one. It does not modify the damaged database, which must not be open. While running, it
// needs twice the database's space on disk. Run also reads a damaged backup in a directory. Errors:
// ErrInUse, ErrNoDatabase, ErrNotEmpty, that of ctx.
func Run(ctx context.Context, from, to string, o Options) (sum Summary, err error) {
	if o.Report == nil {
		o.Report = func(Loss) {}
	}
	if o.Progress == nil {
		o.Progress = func(int64, int64) {}
	}
	if o.FS == nil {
		o.FS = vfs.Default
	}
	release, err := lock(o.FS, from)
	if err != nil {
		return sum, fmt.Errorf("salvage: %s: %w", from, err)
	}
	defer func() { err = errors.Join(err, release()) }()
	_, err = backup.Fill(o.FS, to, func(dir string) (_ *backup.Manifest, err error) {
		sum, err = o.fill(ctx, from, dir)
		return nil, err
	})
	if err != nil {
		return sum, fmt.Errorf("salvage: %s: %w", from, err)
	}
	return sum, nil
}

// lock prevents others from opening the database. On a read-only file system nobody can, so no lock
// is needed.
func lock(fs vfs.FS, dir string) (release func() error, err error) {
	names, err := fs.List(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	for _, name := range names {
		if strings.HasSuffix(name, ".sst") || strings.HasSuffix(name, ".log") {
			held, err := store.Lock(fs, dir)
			if errors.Is(err, syscall.EROFS) {
				return func() error { return nil }, nil
			}
			if err != nil {
				return nil, err
			}
			return held.Close, nil
		}
	}
	return nil, ErrNoDatabase
}

// fill creates the database in a new directory.
func (o *Options) fill(ctx context.Context, from, dir string) (sum Summary, err error) {
	with := store.Options{
		FS: o.FS, CacheBytes: cacheBytes, MemTableBytes: memTableBytes, Reserve: -1,
		Logger: slog.New(slog.DiscardHandler), OnFatal: func(error) {}, // returned by the failed call
	}
	to, err := store.Open(dir, with)
	if err != nil {
		return sum, err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	scratchDir := o.FS.PathJoin(dir, "scratch.tmp")
	unlogged := with
	unlogged.Memory = true
	scratch, err := store.Open(scratchDir, unlogged)
	if err != nil {
		return sum, err
	}
	defer func() { err = errors.Join(err, scratch.Close(), o.FS.RemoveAll(scratchDir)) }()
	w := &writer{
		report: o.Report, tables: map[uint32]*layout.Table{}, streams: map[uint32]*catalog.Stream{},
		put: func(key, value []byte) error { return to.Set(key, value, pebble.NoSync) },
	}
	c := &collector{ctx: ctx, fs: o.FS, dir: from, tables: store.TableOptions(with), scratch: scratch.DB, report: w.addLoss, progress: o.Progress}
	if err := c.collect(); err != nil {
		return w.sum, err
	}
	w.rows, w.gaps = newRows(scratch.DB, c.erased), c.gaps
	for _, step := range []func() error{w.catalog, w.restore, w.items, w.records, w.tokens, w.meta} {
		if err := errors.Join(ctx.Err(), step()); err != nil {
			return w.sum, err
		}
	}
	w.reportGaps()
	return w.sum, to.Flush()
}
