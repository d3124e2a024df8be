// Package exports reads what other analytics give to those who leave: daily counts as CSV. It knows Plausible's export, a zip
// of tables, and tables in the manner of Google Analytics 4, of a date, at most one dimension and metrics; it says every
// count in onefold's terms, and nothing of where counts are stored. It is used by package imported, and by whoever wants to
// know what a file holds. What it reads was written by anybody: files, lines, numbers and names are bounded.
package exports

import (
	"archive/zip"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

var (
	// ErrFormat is returned when nothing of an export can be read as counts of days.
	ErrFormat = errors.New("exports: no table of daily counts")
	// ErrTooMuch is returned when an export exceeds a bound. The message says which.
	ErrTooMuch = errors.New("exports: too much")
)

// The bounds of an export.
const (
	maxFiles  = 500     // tables in all
	maxBytes  = 8 << 30 // of all tables, unpacked
	maxRecord = 1 << 20 // bytes of a row
	maxEntry  = 10_000  // files that an archive may have
)

// An Export is a number of tables. Close it.
type Export struct {
	members []member
	closers []io.Closer
	most    int64 // bytes that are read, unpacked; 0: maxBytes
}

// member is one CSV file of an export.
type member struct {
	name string // without folders
	size int64  // as it is told; -1: unknown
	open func() (io.ReadCloser, error)

	// What Inspect found out.
	again bool   // it is the same as one before, to the byte
	mixed bool   // its rows are not in the order of days
	last  string // day of its last row
}

// Open finds the tables in CSV files, zip archives and folders. They are read when Inspect and Read are called, each time
// anew, so they have to stay as they are. Errors: ErrFormat, ErrTooMuch, those of the file system.
func Open(names ...string) (*Export, error) {
	e := &Export{}
	for _, name := range names {
		if err := e.add(name); err != nil {
			return nil, errors.Join(err, e.Close())
		}
	}
	return e, e.check()
}

// OpenZip finds the tables in an archive of a size in bytes.
func OpenZip(r io.ReaderAt, size int64) (*Export, error) {
	archive, err := zip.NewReader(r, size)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	e := &Export{}
	if err := e.addArchive(archive); err != nil {
		return nil, err
	}
	return e, e.check()
}

// OpenCSV is an export of one table of a size in bytes, which is held by r.
func OpenCSV(name string, r io.ReaderAt, size int64) *Export {
	return &Export{members: []member{{name: path.Base(name), size: size, open: func() (io.ReadCloser, error) {
		return io.NopCloser(io.NewSectionReader(r, 0, size)), nil
	}}}}
}

// Close closes the files.
func (e *Export) Close() error {
	var all []error
	for _, c := range e.closers {
		all = append(all, c.Close())
	}
	return errors.Join(all...)
}

func (e *Export) add(name string) error {
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	if info.IsDir() {
		return e.addFolder(name)
	}
	if !isArchive(name) {
		return e.addFile(name, info.Size())
	}
	archive, err := zip.OpenReader(name)
	if err != nil {
		return fmt.Errorf("%w: %s: %w", ErrFormat, filepath.Base(name), err)
	}
	e.closers = append(e.closers, archive)
	return e.addArchive(&archive.Reader)
}

// isArchive reports whether a file begins as zip archives do. One that cannot be read is found out later.
func isArchive(name string) bool {
	f, err := os.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	var first [4]byte
	_, err = io.ReadFull(f, first[:])
	return err == nil && string(first[:]) == "PK\x03\x04"
}

func (e *Export) addFolder(name string) error {
	files, err := tablesOf(name)
	if err != nil {
		return err
	}
	for _, file := range files {
		info, err := os.Stat(file)
		if err == nil {
			err = e.addFile(file, info.Size())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// tablesOf are the CSV files in a folder.
func tablesOf(name string) (files []string, err error) {
	entries, err := os.ReadDir(name)
	for _, entry := range entries {
		if isTable(entry.Name()) && entry.Type().IsRegular() {
			files = append(files, filepath.Join(name, entry.Name()))
		}
	}
	return files, err
}

// Files are the files that Open would open: in place of folders, the tables in them. Errors: those of the file system.
func Files(names ...string) (files []string, err error) {
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			files = append(files, name)
			continue
		}
		tables, err := tablesOf(name)
		if err != nil {
			return nil, err
		}
		files = append(files, tables...)
	}
	return files, nil
}

func (e *Export) addFile(name string, size int64) error {
	e.members = append(e.members, member{name: filepath.Base(name), size: size, open: func() (io.ReadCloser, error) { return os.Open(name) }})
	return nil
}

// addArchive takes the tables of an archive, in whatever folders. Nothing is unpacked to disk, and names are only shown.
func (e *Export) addArchive(archive *zip.Reader) error {
	if len(archive.File) > maxEntry {
		return fmt.Errorf("%w: the archive has %d files, at most %d are read", ErrTooMuch, len(archive.File), maxEntry)
	}
	for _, f := range archive.File {
		if f.Mode()&fs.ModeType == 0 && isTable(f.Name) {
			e.members = append(e.members, member{name: path.Base(f.Name), size: int64(min(f.UncompressedSize64, maxBytes+1)), open: f.Open})
		}
	}
	return nil
}

// isTable reports whether a file is one by its name. What macOS puts beside files is none.
func isTable(name string) bool {
	base := path.Base(name)
	return strings.EqualFold(path.Ext(base), ".csv") && !strings.HasPrefix(base, "._") && !strings.HasPrefix(name, "__MACOSX/")
}

func (e *Export) check() error {
	var bytes int64
	for _, m := range e.members {
		bytes += max(m.size, 0)
	}
	switch {
	case len(e.members) == 0:
		return fmt.Errorf("%w: there is no .csv file", ErrFormat)
	case len(e.members) > maxFiles:
		return fmt.Errorf("%w: %d tables, at most %d are read", ErrTooMuch, len(e.members), maxFiles)
	case bytes > maxBytes:
		return fmt.Errorf("%w: the tables have more than %d GiB", ErrTooMuch, maxBytes>>30)
	}
	slices.SortStableFunc(e.members, func(a, b member) int { return cmp.Compare(a.name, b.name) })
	return nil
}

// Size is how many bytes the tables have, unpacked, as far as it is told.
func (e *Export) Size() (bytes int64) {
	for _, m := range e.members {
		bytes += max(m.size, 0)
	}
	return bytes
}

func (e *Export) limit() int64 { return cmp.Or(e.most, maxBytes) }

// bounded ends a read that exceeds the bytes left of an export, or whose context is over. What an archive says of its
// sizes is not believed.
type bounded struct {
	ctx  context.Context
	r    io.Reader
	left *int64
	tell func(bytes int64) // as they are read
}

func (b *bounded) Read(p []byte) (int, error) {
	if err := context.Cause(b.ctx); err != nil {
		return 0, err
	}
	n, err := b.r.Read(p)
	if *b.left -= int64(n); *b.left < 0 {
		return n, fmt.Errorf("%w: the tables have more bytes unpacked than are read", ErrTooMuch)
	}
	if b.tell != nil {
		b.tell(int64(n))
	}
	return n, err
}
