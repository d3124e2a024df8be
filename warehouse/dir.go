package warehouse

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Dir stores a warehouse's objects as files in a directory.
type Dir struct {
	root string
	temp string
}

// tempFolder holds files while they are being written. Files left by processes that died are
// removed after tempLife.
const (
	tempFolder = "_tmp"
	tempLife   = 24 * time.Hour
)

// OpenDir opens a directory and creates it if it does not exist. Errors: those of the file system.
func OpenDir(root string) (*Dir, error) {
	d := &Dir{root: root, temp: filepath.Join(root, tempFolder)}
	if err := d.folder(d.temp); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(d.temp)
	if err != nil {
		return nil, fmt.Errorf("warehouse: %w", err)
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > tempLife {
			if err := os.Remove(filepath.Join(d.temp, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, fmt.Errorf("warehouse: %w", err)
			}
		}
	}
	return d, nil
}

// Root returns the path of the directory.
func (d *Dir) Root() string { return d.root }

func (d *Dir) path(name string) string { return filepath.Join(d.root, filepath.FromSlash(name)) }

// folder creates a folder and its parents, durably.
func (d *Dir) folder(dir string) error {
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		return nil
	}
	if parent := filepath.Dir(dir); parent != dir {
		if err := d.folder(parent); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, 0o750); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("warehouse: %w", err)
	}
	return syncDir(filepath.Dir(dir))
}

func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("warehouse: %w", err)
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("warehouse: %w", err)
	}
	return nil
}

// write writes a temporary file and returns its path.
func (d *Dir) write(body io.Reader) (name string, err error) {
	name = filepath.Join(d.temp, rand.Text())
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o640)
	if err != nil {
		return "", fmt.Errorf("warehouse: %w", err)
	}
	_, err = io.Copy(f, body)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return "", errors.Join(fmt.Errorf("warehouse: write: %w", err), os.Remove(name))
	}
	return name, nil
}

// place writes a file and gives it its name by rename or link, durably.
func (d *Dir) place(name string, body io.Reader, give func(from, to string) error) error {
	temp, err := d.write(body)
	if err != nil {
		return err
	}
	to := d.path(name)
	if err = d.folder(filepath.Dir(to)); err == nil {
		err = give(temp, to)
	}
	if gone := os.Remove(temp); gone != nil && !errors.Is(gone, fs.ErrNotExist) {
		err = errors.Join(err, gone)
	}
	switch {
	case errors.Is(err, fs.ErrExist):
		return fmt.Errorf("%w: %s", ErrExists, name)
	case err != nil:
		return fmt.Errorf("warehouse: put %s: %w", name, err)
	}
	return syncDir(filepath.Dir(to))
}

// Put stores a file and replaces an existing one of that name.
func (d *Dir) Put(_ context.Context, name string, body io.ReadSeeker) error {
	return d.place(name, body, os.Rename)
}

// PutIfAbsent stores a file by making a link, which fails if the name exists. It then returns
// ErrExists.
func (d *Dir) PutIfAbsent(_ context.Context, name string, body []byte) error {
	return d.place(name, strings.NewReader(string(body)), os.Link)
}

// Open opens a file. Errors: ErrNotFound if there is none of that name.
func (d *Dir) Open(_ context.Context, name string) (Object, error) {
	f, err := os.Open(d.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %s", ErrNotFound, name)
	}
	if err != nil {
		return nil, fmt.Errorf("warehouse: %w", err)
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("warehouse: %w", err), f.Close())
	}
	return &file{File: f, size: info.Size()}, nil
}

type file struct {
	*os.File
	size int64
}

func (f *file) Size() int64 { return f.size }

// List lists the files of a folder and its subfolders.
func (d *Dir) List(ctx context.Context, prefix, after string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) { d.list(ctx, strings.TrimSuffix(prefix, "/"), after, yield) }
}

func (d *Dir) list(ctx context.Context, folder, after string, yield func(string, error) bool) bool {
	entries, err := os.ReadDir(d.path(folder))
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		err = ctx.Err()
	}
	if err != nil {
		yield("", fmt.Errorf("warehouse: list: %w", err))
		return false
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	for _, e := range entries {
		name := folder + "/" + e.Name()
		if e.IsDir() {
			if !d.list(ctx, name, after, yield) {
				return false
			}
			continue
		}
		if name > after && !yield(name, nil) {
			return false
		}
	}
	return true
}

// Delete deletes files. Files that do not exist are ignored.
func (d *Dir) Delete(_ context.Context, names ...string) error {
	for _, name := range names {
		path := d.path(name)
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("warehouse: delete: %w", err)
		}
	}
	return nil
}
