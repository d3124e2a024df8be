package backups

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// dir is a directory of backups. While a backup is being written, its name begins with a dot and
// ends with .partial.
type dir string

const partial = ".partial"

// abandoned is the time without a write after which a partial file counts as left behind by a
// killed process.
const abandoned = time.Hour

// String returns the directory.
func (d dir) String() string { return string(d) }

func (d dir) path(name string) string { return filepath.Join(string(d), name) }

// Prepare implements Place.
func (d dir) Prepare(context.Context) error {
	if err := os.Mkdir(string(d), 0o700); err == nil {
		return syncDir(filepath.Dir(filepath.Clean(string(d))))
	} else if !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("no_directory: %w; create its parent directory, or mount its disk", err)
	}
	entries, err := os.ReadDir(string(d))
	if err != nil {
		return fmt.Errorf("no_directory: %w", err)
	}
	for _, e := range entries {
		if !isPartial(e.Name()) {
			continue
		}
		if info, err := e.Info(); err != nil || time.Since(info.ModTime()) < abandoned {
			continue
		}
		if err := os.Remove(d.path(e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func isPartial(name string) bool {
	name, ends := strings.CutSuffix(name, partial)
	name, begins := strings.CutPrefix(name, ".")
	_, ok := ParseName(name)
	return begins && ends && ok
}

// List implements Place.
func (d dir) List(context.Context) (files []File, err error) {
	entries, err := os.ReadDir(string(d))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: there is no directory %s", ErrNoPlace, d)
	}
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if !e.Type().IsRegular() {
			continue
		}
		files, err = add(files, e.Name(), func() (int64, error) {
			info, err := e.Info()
			if errors.Is(err, fs.ErrNotExist) {
				return 0, ErrNone
			}
			if err != nil {
				return 0, err
			}
			return info.Size(), nil
		})
		if err != nil {
			return nil, err
		}
	}
	return sorted(files), nil
}

// Open implements Place.
func (d dir) Open(_ context.Context, n Name) (io.ReadCloser, int64, error) {
	f, err := os.Open(d.path(n.String()))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, fmt.Errorf("%w: there is no backup %s in %s", ErrNone, n, d)
	}
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, info.Size(), nil
}

// Write implements Place.
func (d dir) Write(_ context.Context, n Name, write func(io.Writer) error) (err error) {
	to := d.path(n.String())
	if _, err := os.Lstat(to); err == nil {
		return fmt.Errorf("%w: %s already exists", ErrExists, to)
	}
	from := d.path("." + n.String() + partial)
	f, err := os.OpenFile(from, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%w: %s is being written by another process, or was left by one that was killed", ErrExists, from)
	}
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			if gone := os.Remove(from); !errors.Is(gone, fs.ErrNotExist) {
				err = errors.Join(err, gone)
			}
		}
	}()
	if err = write(f); err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err = os.Rename(from, to); err != nil {
		return err
	}
	return syncDir(string(d))
}

// Delete implements Place.
func (d dir) Delete(_ context.Context, n Name) error {
	if err := os.Remove(d.path(n.String())); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// syncDir makes new names in a directory durable.
func syncDir(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
