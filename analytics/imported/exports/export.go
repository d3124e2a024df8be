// Package exports reads daily counts that other analytics products export as CSV: Plausible's zip
// of tables, and tables in the style of Google Analytics 4 with a date, at most one dimension, and
// metrics. It converts all counts to onefold's terms and does not know where they are stored. Its
// input is untrusted, so the sizes of files, rows, numbers and names are limited.
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

	"github.com/onefold/onefold/internal/mask"
)

var (
	// ErrFormat is returned when an export has no readable table of daily counts.
	ErrFormat = errors.New("exports: no table of daily counts")
	// ErrTooMuch is returned when an export exceeds a limit. The message says which.
	ErrTooMuch = errors.New("exports: too much")
)

// tableError is an ErrFormat of one table.
type tableError struct{ reason error }

// notTable returns an ErrFormat with a reason.
func notTable(format string, args ...any) error { return &tableError{fmt.Errorf(format, args...)} }

// Error implements error.
func (e *tableError) Error() string { return ErrFormat.Error() + ": " + e.reason.Error() }

// Unwrap implements errors.Unwrap.
func (e *tableError) Unwrap() []error { return []error{ErrFormat, e.reason} }

// reasonOf returns why a table cannot be read.
func reasonOf(err error) string {
	if e := (*tableError)(nil); errors.As(err, &e) {
		return e.reason.Error()
	}
	return err.Error()
}

// Limits of an export.
const (
	maxFiles  = 500     // total number of tables
	maxBytes  = 8 << 30 // total size of tables, unpacked
	maxRecord = 1 << 20 // bytes of a row
	maxEntry  = 10_000  // files in an archive
)

// An Export is a set of tables. Call Close when done.
type Export struct {
	members []member
	closers []io.Closer
	most    int64 // limit of bytes to read, unpacked; 0: maxBytes
}

// member is one CSV file of an export.
type member struct {
	name string // without folders
	size int64  // as declared; -1: unknown
	open func() (io.ReadCloser, error)

	masks *mask.Masker

	// Results of Inspect.
	again bool   // identical to an earlier file
	mixed bool   // rows are not sorted by day
	last  string // day of its last row
}

// Open finds the tables in CSV files, zip archives and folders. Inspect and Reader read them again
// each time, so they must not change. Errors: ErrFormat, ErrTooMuch, those of the file system.
func Open(names ...string) (*Export, error) {
	e := &Export{}
	for _, name := range names {
		if err := e.add(name); err != nil {
			return nil, errors.Join(err, e.Close())
		}
	}
	return e, e.check()
}

// OpenZip finds the tables in a zip archive of the given size in bytes.
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

// OpenCSV returns an export with one table, read from r, of the given size in bytes.
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

// isArchive reports whether a file begins like a zip archive. Errors are left for later reads.
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

// tablesOf returns the CSV files in a folder.
func tablesOf(name string) (files []string, err error) {
	entries, err := os.ReadDir(name)
	for _, entry := range entries {
		if isTable(entry.Name()) && entry.Type().IsRegular() {
			files = append(files, filepath.Join(name, entry.Name()))
		}
	}
	return files, err
}

// Files returns the files that Open would open, with folders replaced by the tables in them.
// Errors: those of the file system.
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

// addArchive adds the tables of an archive, from all its folders. Nothing is unpacked to disk, and
// names are used only for display.
func (e *Export) addArchive(archive *zip.Reader) error {
	if len(archive.File) > maxEntry {
		return fmt.Errorf("%w: the archive has %d files, more than %d", ErrTooMuch, len(archive.File), maxEntry)
	}
	for _, f := range archive.File {
		if f.Mode()&fs.ModeType == 0 && isTable(f.Name) {
			e.members = append(e.members, member{name: path.Base(f.Name), size: int64(min(f.UncompressedSize64, maxBytes+1)), open: f.Open})
		}
	}
	return nil
}

// isTable reports whether a file is a table by its name. Metadata files of macOS are not.
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
		return fmt.Errorf("%w: %d tables, more than %d", ErrTooMuch, len(e.members), maxFiles)
	case bytes > maxBytes:
		return fmt.Errorf("%w: the tables have more than %d GiB", ErrTooMuch, maxBytes>>30)
	}
	slices.SortStableFunc(e.members, func(a, b member) int { return cmp.Compare(a.name, b.name) })
	return nil
}

// Size returns the declared, unpacked size of all tables in bytes, without those of unknown size.
func (e *Export) Size() (bytes int64) {
	for _, m := range e.members {
		bytes += max(m.size, 0)
	}
	return bytes
}

func (e *Export) limit() int64 { return cmp.Or(e.most, maxBytes) }

// bounded limits a read to the bytes left of an export, and stops it when its context ends. Sizes
// declared in an archive are not trusted.
type bounded struct {
	ctx  context.Context
	r    io.Reader
	left *int64
	tell func(bytes int64) // called as bytes are read
}

func (b *bounded) Read(p []byte) (int, error) {
	if err := context.Cause(b.ctx); err != nil {
		return 0, err
	}
	n, err := b.r.Read(p)
	if *b.left -= int64(n); *b.left < 0 {
		return n, fmt.Errorf("%w: the unpacked tables have too many bytes", ErrTooMuch)
	}
	if b.tell != nil {
		b.tell(int64(n))
	}
	return n, err
}
