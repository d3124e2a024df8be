package tail

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// rotated lists the file's readable rotated versions: for access.log these are access.log.1,
// access.log-20260512 and, as Caddy names them, access-2026-05-12T10-00-00.000.log.
func (t *File) rotated() (found []fs.FileInfo, dir string, err error) {
	dir, base := filepath.Split(t.o.Path)
	dir = filepath.Clean(dir)
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, dir, nil
	}
	if err != nil {
		return nil, dir, fmt.Errorf("follow %s: %w", t.o.Path, err)
	}
	for _, e := range entries {
		if !isRotated(e.Name(), base) {
			continue
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() { // otherwise it is already gone
			found = append(found, info)
		}
	}
	return found, dir, nil
}

func isRotated(name, base string) bool {
	switch filepath.Ext(name) {
	case ".gz", ".zst", ".bz2", ".xz", ".lz4":
		return false
	}
	if after, ok := strings.CutPrefix(name, base); ok {
		return startsWithDigit(strings.TrimLeft(after, ".-_"))
	}
	ext := filepath.Ext(base)
	after, ok := strings.CutPrefix(name, strings.TrimSuffix(base, ext)+"-")
	return ok && startsWithDigit(after) && strings.HasSuffix(name, ext)
}

func startsWithDigit(s string) bool { return s != "" && '0' <= s[0] && s[0] <= '9' }

// find opens the file of a position, under its name or a rotated name. It returns nil if there is
// none.
func (t *File) find(p *Position) (*os.File, error) {
	candidates, dir, err := t.rotated()
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(t.o.Path); err == nil && info.Mode().IsRegular() {
		candidates = append(candidates, info)
	}
	for _, info := range candidates {
		if device, inode := identity(info); device != p.Device || inode != p.Inode {
			continue
		}
		path := filepath.Join(dir, info.Name())
		if info.Name() == filepath.Base(t.o.Path) {
			path = t.o.Path
		}
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		same, err := p.isOf(f)
		if same && err == nil {
			return f, nil
		}
		if err = errors.Join(err, f.Close()); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// successor returns the path of the file to read after the open one: of those that were rotated
// since, the one that was written to first; "" if the file with the name is next.
func (t *File) successor() (string, error) {
	last, err := t.f.Stat()
	if err != nil {
		return "", fmt.Errorf("follow %s: %w", t.o.Path, err)
	}
	candidates, dir, err := t.rotated()
	if err != nil {
		return "", err
	}
	var next fs.FileInfo
	for _, info := range candidates {
		if info.ModTime().After(last.ModTime()) && info.Size() > 0 && !os.SameFile(info, last) && (next == nil || info.ModTime().Before(next.ModTime())) {
			next = info
		}
	}
	if next == nil {
		return "", nil
	}
	return filepath.Join(dir, next.Name()), nil
}
