package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/onefold/onefold/engine/internal/damage"
	"github.com/onefold/onefold/engine/internal/row"
)

// ErrCopy is returned if a checkpoint cannot be opened.
var ErrCopy = errors.New("engine: the copy of the database cannot be opened")

// Checkpoint copies the store to a new directory, with every write acknowledged before the call,
// and returns the format of the copy's rows. Row files are hard links if the file system supports
// them. Checkpoint opens the copy and verifies the checksum of every block in its row files. After
// an error the directory may remain. Errors: ErrCopy; row.ErrCorrupt for a damaged file; ErrFatal;
// that of ctx.
//
// Some copies made by Pebble's own checkpoint cannot be opened, although it returns no error:
//
//   - Opening a store with a log creates a manifest, and then a log. If the process ends between
//     the two, the next opening has no log to replay, and creates no manifest until the first
//     flush. A checkpoint copies as many bytes of the manifest as were written since its creation:
//     none until then.
//   - A log that was damaged on disk after it was written is copied unchanged.
//
// A flush repairs both: it creates a manifest, and writes the contents of the log from memory to
// row files.
func (s *Store) Checkpoint(ctx context.Context, dir string, o Options) (format byte, err error) {
	if format, err = s.copyTo(dir, o); errors.Is(err, ErrCopy) {
		o.Logger.Info("engine: store: retrying the copy after a flush", "error", err)
		if err = errors.Join(o.FS.RemoveAll(dir), s.flush(ctx)); err == nil {
			format, err = s.copyTo(dir, o)
		}
	}
	if err == nil {
		err = Verify(ctx, dir, o)
	}
	return format, err
}

// copyTo copies the store and opens the copy.
func (s *Store) copyTo(dir string, o Options) (format byte, err error) {
	if err := s.DB.Checkpoint(dir, pebble.WithFlushedWAL()); err != nil {
		return 0, damage.Of(err)
	}
	f, err := Try(dir, o)
	if err == nil && len(f) != 1 {
		err = row.ErrCorrupt
	}
	if err != nil {
		what, _, _ := strings.Cut(err.Error(), "\n")
		return 0, fmt.Errorf("%w: %s", ErrCopy, what)
	}
	return f[0], nil
}

// flush writes memory tables to files, creates a manifest if there is none, and waits for the disk.
func (s *Store) flush(ctx context.Context) error {
	done, err := s.AsyncFlush()
	if err != nil {
		return err
	}
	select {
	case <-done:
		return s.Failure()
	case <-s.disk.over:
		return s.Failure()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// tryCache is enough for the few blocks that opening a store reads.
const tryCache = 1 << 20

// Try opens a store that is not in use, without modifying its directory, and returns the stored
// format of its rows. It reads the logs into memory.
func Try(dir string, o Options) (format []byte, err error) {
	o.FS, o.ReadOnly, o.CacheBytes = unlocked{o.FS}, true, tryCache
	s, err := Open(dir, o)
	if err != nil {
		return nil, err
	}
	format, err = s.Read(row.KeyFormat)
	return format, errors.Join(err, s.Close())
}

// unlocked is a file system without directory locks, which would be additional files.
type unlocked struct{ vfs.FS }

// Lock implements vfs.FS.
func (unlocked) Lock(string) (io.Closer, error) { return io.NopCloser(nil), nil }

// Unwrap implements vfs.FS.
func (u unlocked) Unwrap() vfs.FS { return u.FS }
