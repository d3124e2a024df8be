package backup

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Fill fills a directory, which must be empty or absent, with what fn writes to a temporary
// directory alongside it. The directory therefore appears completely or not at all, even if the
// process is killed.
func Fill(fs vfs.FS, dir string, fn func(dir string) (*Manifest, error)) (*Manifest, error) {
	dir = fs.PathJoin(dir) // without a trailing slash
	info, err := fs.Stat(dir)
	exists, partial := err == nil, dir+".partial"
	if exists && !info.IsDir() {
		return nil, fmt.Errorf("%w: %s is a file", ErrNotEmpty, dir)
	}
	if exists {
		if names, err := fs.List(dir); err != nil || len(names) > 0 {
			return nil, errors.Join(fmt.Errorf("%w: %s", ErrNotEmpty, dir), err)
		}
	}
	if _, err := fs.Stat(partial); err == nil {
		return nil, fmt.Errorf("%w: %s remains from an unfinished backup or restore: remove it", ErrNotEmpty, partial)
	}
	m, err := fn(partial)
	if err == nil && exists {
		err = fs.Remove(dir)
	}
	if err == nil {
		err = fs.Rename(partial, dir)
	}
	if err != nil {
		var file *os.PathError
		if errors.As(err, &file) && strings.HasPrefix(file.Path, partial) { // report the requested name
			file.Path = dir + strings.TrimPrefix(file.Path, partial)
		}
		return nil, errors.Join(err, fs.RemoveAll(partial))
	}
	return m, syncDir(fs, fs.PathDir(dir))
}
