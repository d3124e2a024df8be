package backup

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"slices"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Progress is called with the number of bytes done and the total, or -1 if the total is unknown. It
// may be nil.
type Progress func(done, total int64)

// copier copies files, computes their checksums, and reports progress.
type copier struct {
	ctx      context.Context
	progress Progress
	done     int64
	total    int64
	buf      []byte
}

const chunk = 256 << 10

func newCopier(ctx context.Context, progress Progress, total int64) *copier {
	if progress == nil {
		progress = func(int64, int64) {}
	}
	return &copier{ctx: ctx, progress: progress, total: total, buf: make([]byte, chunk)}
}

// copy copies all of r and returns its description.
func (c *copier) copy(w io.Writer, r io.Reader, name string) (File, error) {
	f := File{Name: name}
	sum := uint32(0)
	for {
		if err := c.ctx.Err(); err != nil {
			return f, err
		}
		n, err := io.ReadFull(r, c.buf)
		sum = crc32.Update(sum, castagnoli, c.buf[:n])
		f.Size += int64(n)
		if _, werr := w.Write(c.buf[:n]); werr != nil {
			return f, fmt.Errorf("backup: write %s: %w", name, werr)
		}
		c.done += int64(n)
		c.progress(c.done, c.total)
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			f.Sum = sumText(sum)
			return f, nil
		}
		if err != nil {
			return f, fmt.Errorf("backup: read %s: %w", name, err)
		}
	}
}

// files lists the files of a directory, sorted, and their total size. It rejects subdirectories.
func files(fs vfs.FS, dir string) (names []string, size int64, err error) {
	if names, err = fs.List(dir); err != nil {
		return nil, 0, fmt.Errorf("backup: list %s: %w", dir, err)
	}
	slices.Sort(names)
	for _, name := range names {
		info, err := fs.Stat(fs.PathJoin(dir, name))
		if err != nil {
			return nil, 0, fmt.Errorf("backup: %w", err)
		}
		if info.IsDir() || !plainName.MatchString(name) {
			return nil, 0, fmt.Errorf("%w: %s does not belong to it", ErrDamaged, name)
		}
		size += info.Size()
	}
	return names, size, nil
}

// Seal writes a manifest of a directory's files to the directory, and returns it.
func Seal(ctx context.Context, fs vfs.FS, dir string, m Manifest, progress Progress) (*Manifest, error) {
	names, size, err := files(fs, dir)
	if err != nil {
		return nil, err
	}
	c := newCopier(ctx, progress, size)
	for _, name := range names {
		f, err := c.copyFrom(io.Discard, fs, dir, name)
		if err != nil {
			return nil, err
		}
		m.Files = append(m.Files, f)
	}
	b, err := m.encode()
	if err != nil {
		return nil, err
	}
	if err := create(fs, fs.PathJoin(dir, ManifestName), func(w io.Writer) error { _, err := w.Write(b); return err }); err != nil {
		return nil, err
	}
	return &m, syncDir(fs, dir)
}

// copyFrom copies a file of a directory.
func (c *copier) copyFrom(w io.Writer, fs vfs.FS, dir, name string) (f File, err error) {
	r, err := fs.Open(fs.PathJoin(dir, name), vfs.SequentialReadsOption)
	if err != nil {
		return f, fmt.Errorf("backup: %w", err)
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	return c.copy(w, r, name)
}

// Copy copies a sealed directory to a new one and verifies it. It does not copy the manifest.
func Copy(ctx context.Context, from vfs.FS, dir string, to vfs.FS, dest string, progress Progress) (*Manifest, error) {
	m, err := Read(from, dir)
	if err != nil {
		return nil, err
	}
	names, size, err := files(from, dir)
	if err != nil {
		return nil, err
	}
	if err := to.MkdirAll(dest, dirMode); err != nil {
		return nil, fmt.Errorf("backup: %w", err)
	}
	if err := unfinished(to, dest); err != nil {
		return nil, err
	}
	c := newCopier(ctx, progress, size)
	var got []File
	for _, name := range names {
		if name == ManifestName {
			continue
		}
		err := create(to, to.PathJoin(dest, name), func(w io.Writer) error {
			f, err := c.copyFrom(w, from, dir, name)
			got = append(got, f)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	if err := m.check(got); err != nil {
		return nil, err
	}
	return m, finished(to, dest)
}

// unfinished marks a directory that is being filled with an invalid manifest, because a backup is
// never opened. Otherwise, if the process is killed, the directory might look like a database but
// lack files.
func unfinished(fs vfs.FS, dir string) error {
	err := create(fs, fs.PathJoin(dir, ManifestName), func(w io.Writer) error {
		_, err := io.WriteString(w, "This directory was not filled to the end. Remove it.\n")
		return err
	})
	return errors.Join(err, syncDir(fs, dir))
}

// finished removes the mark, once everything is copied and verified.
func finished(fs vfs.FS, dir string) error {
	if err := syncDir(fs, dir); err != nil {
		return err
	}
	if err := fs.Remove(fs.PathJoin(dir, ManifestName)); err != nil && !errors.Is(err, os.ErrNotExist) { // an empty directory has no mark
		return fmt.Errorf("backup: %w", err)
	}
	return syncDir(fs, dir)
}

// Is reports whether a directory is a backup.
func Is(fs vfs.FS, dir string) bool {
	_, err := fs.Stat(fs.PathJoin(dir, ManifestName))
	return err == nil
}

// Read returns the manifest of the backup in a directory.
func Read(fs vfs.FS, dir string) (m *Manifest, err error) {
	if _, err := fs.Stat(dir); err != nil {
		return nil, fmt.Errorf("backup: %w", err)
	}
	names, err := fs.List(dir)
	if err != nil {
		return nil, fmt.Errorf("backup: %w", err)
	}
	r, err := fs.Open(fs.PathJoin(dir, ManifestName))
	if err != nil {
		return nil, fmt.Errorf("%w (%w)", ErrIncomplete, err)
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	return readManifest(r, len(names))
}

const dirMode = 0o700

// create writes a file and syncs it.
func create(fs vfs.FS, path string, write func(io.Writer) error) (err error) {
	f, err := fs.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	if err := write(f); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("backup: write %s: %w", path, err)
	}
	return nil
}

// syncDir makes the names in a directory durable.
func syncDir(fs vfs.FS, dir string) error {
	d, err := fs.OpenDir(dir)
	if err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	if err := errors.Join(d.Sync(), d.Close()); err != nil {
		return fmt.Errorf("backup: sync %s: %w", dir, err)
	}
	return nil
}
