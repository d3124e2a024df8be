package wholebackup

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// WriteFile writes a new file under a temporary name, and renames it when it is complete and
// durable.
func WriteFile(name string, to func(io.Writer) error) (err error) {
	if err := Absent(name); err != nil {
		return err
	}
	partial := name + ".partial"
	defer func() { err = named(err, partial, name) }()
	f, err := os.OpenFile(partial, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	if err = to(f); err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(partial, name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(partial))
	}
	return syncFolder(filepath.Dir(name))
}

// named replaces the temporary name in an error by the final name.
func named(err error, partial, name string) error {
	var file *fs.PathError
	var link *os.LinkError
	if errors.As(err, &file) && file.Path == partial {
		file.Path = name
	} else if errors.As(err, &link) && link.Old == partial {
		link.Old = name
	}
	return err
}
