package wholebackup

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Limits of a backup's companion files.
const (
	maxFile  = 32 << 20 // bytes of a file; usage files have up to 17 MB
	maxBytes = 64 << 20 // bytes of all files
	maxFiles = 10000
)

// stagedFiles holds companion files during a restore. They wait in their own directory until the table is
// restored: a truncated stream must leave none behind, and memory should not hold them.
type stagedFiles struct {
	dir, folder string
	kept        map[string]string // path of each file by its name in the backup
	bytes       int64
	placed      []string // paths of files moved to their final place
}

// keep reads a companion file, if its name is allowed.
func (a *stagedFiles) keep(name string, h *tar.Header, in io.Reader) error {
	// Names come from the archive. Only known ones are accepted, and none with a path separator, so
	// that an archive cannot write outside of these files.
	inFolder, isFollow := strings.CutPrefix(name, follow+"/")
	known := name == single[0] || name == single[1] || isFollow && inFolder != "" && !strings.ContainsAny(inFolder, `/\`) && !strings.HasPrefix(inFolder, ".")
	a.bytes += h.Size
	if !known || h.Typeflag != tar.TypeReg || h.Size > maxFile || a.bytes > maxBytes || len(a.kept) == maxFiles || a.kept[name] != "" {
		return fmt.Errorf("%w: %.80q does not belong in a backup", ErrForeign, h.Name)
	}
	if err := Absent(fileOf(a.dir, name)); err != nil {
		return err
	}
	if a.kept == nil {
		if err := Absent(a.folder); err != nil { // belongs to another restore, perhaps a killed one
			return err
		}
		if err := os.MkdirAll(a.folder, 0o700); err != nil {
			return err
		}
		a.kept = map[string]string{}
	}
	// The temporary name does not depend on the archive.
	a.kept[name] = filepath.Join(a.folder, strconv.Itoa(len(a.kept)))
	return write(a.kept[name], in)
}

// put moves the files to their places after the table is restored. If one cannot be moved,
// everything restored is removed, since the table alone would look like a complete restore.
func (a *stagedFiles) put() (err error) {
	defer func() {
		if err != nil {
			for _, path := range a.placed {
				err = errors.Join(err, os.Remove(path))
			}
			err = errors.Join(err, os.RemoveAll(a.dir))
		}
	}()
	folders := map[string]bool{}
	for name, from := range a.kept {
		to := fileOf(a.dir, name)
		if err := Absent(to); err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			return err
		}
		if err := os.Rename(from, to); err != nil {
			return err
		}
		a.placed = append(a.placed, to)
		folders[filepath.Dir(to)] = true
	}
	// A rename is durable only after its directory is synced.
	for folder := range folders {
		if err := syncFolder(folder); err != nil {
			return err
		}
	}
	return nil
}

// clear removes the directory, if this restore has created it.
func (a *stagedFiles) clear() error {
	if a.kept == nil {
		return nil
	}
	return os.RemoveAll(a.folder)
}

// Absent returns ErrExists if a file exists.
func Absent(path string) error {
	_, err := os.Lstat(path)
	switch {
	case err == nil:
		return fmt.Errorf("%w: %s already exists; choose another name, or move it away", ErrExists, path)
	case errors.Is(err, fs.ErrNotExist):
		return nil
	}
	return err
}

// write writes a new file durably.
func write(name string, from io.Reader) error {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, from)
	return errors.Join(err, f.Sync(), f.Close())
}

func syncFolder(name string) error {
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
