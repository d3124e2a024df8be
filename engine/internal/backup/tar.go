package backup

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// WriteTar writes the files of a directory and finally their manifest, which it returns.
func WriteTar(ctx context.Context, w io.Writer, fs vfs.FS, dir string, m Manifest, progress Progress) (*Manifest, error) {
	names, size, err := files(fs, dir)
	if err != nil {
		return nil, err
	}
	c := newCopier(ctx, progress, size)
	archive := tar.NewWriter(w)
	for _, name := range names {
		info, err := fs.Stat(fs.PathJoin(dir, name))
		if err != nil {
			return nil, fmt.Errorf("backup: %w", err)
		}
		if err := archive.WriteHeader(m.header(name, info.Size())); err != nil {
			return nil, fmt.Errorf("backup: write %s: %w", name, err)
		}
		f, err := c.copyFrom(archive, fs, dir, name)
		if err != nil {
			return nil, err
		}
		m.Files = append(m.Files, f)
	}
	b, err := m.encode()
	if err != nil {
		return nil, err
	}
	if err := archive.WriteHeader(m.header(ManifestName, int64(len(b)))); err != nil {
		return nil, fmt.Errorf("backup: write %s: %w", ManifestName, err)
	}
	if _, err := archive.Write(b); err != nil {
		return nil, fmt.Errorf("backup: write %s: %w", ManifestName, err)
	}
	if err := archive.Close(); err != nil {
		return nil, fmt.Errorf("backup: write: %w", err)
	}
	return &m, nil
}

func (m *Manifest) header(name string, size int64) *tar.Header {
	const fileMode = 0o600
	return &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: fileMode, ModTime: m.Taken}
}

// Extract extracts a stream written by WriteTar to a new directory and verifies it. It does not
// write the manifest. After an error the directory contains part of the files and cannot be opened
// as a database: see unfinished.
func Extract(ctx context.Context, r io.Reader, fs vfs.FS, dest string, progress Progress) (*Manifest, error) {
	if err := fs.MkdirAll(dest, dirMode); err != nil {
		return nil, fmt.Errorf("backup: %w", err)
	}
	archive := tar.NewReader(r)
	c := newCopier(ctx, progress, -1)
	var got []File
	seen := map[string]bool{}
	for {
		h, err := archive.Next()
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return nil, ErrIncomplete
		case err != nil:
			return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
		case !whole(h) || !plainName.MatchString(h.Name) || seen[h.Name] || len(got) >= maxFiles:
			return nil, fmt.Errorf("%w: it holds %q", ErrDamaged, h.Name)
		case h.Name == ManifestName:
			m, err := readManifest(archive, len(got))
			if err == nil {
				err = m.check(got)
			}
			if err != nil {
				return nil, err
			}
			return m, finished(fs, dest)
		}
		if len(got) == 0 {
			if err := unfinished(fs, dest); err != nil {
				return nil, err
			}
		}
		seen[h.Name] = true
		if err := create(fs, fs.PathJoin(dest, h.Name), func(w io.Writer) error {
			f, err := c.copy(w, archive, h.Name)
			got = append(got, f)
			return err
		}); err != nil {
			return nil, err
		}
	}
}

// whole reports whether an archive contains all bytes of a file. A sparse file contains only some,
// and can declare any number of zeros.
func whole(h *tar.Header) bool {
	for key := range h.PAXRecords {
		if strings.HasPrefix(key, "GNU.sparse.") {
			return false
		}
	}
	return h.Typeflag == tar.TypeReg
}
