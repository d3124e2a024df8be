package backups

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/onefold/onefold/cmd/internal/s3store"
)

// Place is a directory or a bucket with backups. Files that are no backups by their names are never listed, read or deleted.
type Place interface {
	fmt.Stringer
	// Prepare makes a directory, whose parent must exist, and removes what killed processes left in it.
	Prepare(ctx context.Context) error
	// List lists the backups, the oldest first. Errors: ErrNoPlace, ErrTooMany.
	List(ctx context.Context) ([]File, error)
	// Open opens a backup to read. Errors: ErrNone.
	Open(ctx context.Context, n Name) (io.ReadCloser, int64, error)
	// Write makes a backup of what write writes. It is there when Write returns nil, durably, and else nothing of it is.
	// Errors: ErrExists, those of write.
	Write(ctx context.Context, n Name, write func(io.Writer) error) error
	// Delete deletes a backup. One that is not there is no error.
	Delete(ctx context.Context, n Name) error
}

// File is a backup at a place.
type File struct {
	Name
	Bytes int64 // of the file
}

var (
	// ErrNone is returned when there is no such backup.
	ErrNone = errors.New("no_backup")
	// ErrNoPlace is returned for a directory that does not exist.
	ErrNoPlace = errors.New("no_directory")
	// ErrExists is returned for a name that is taken.
	ErrExists = errors.New("file_exists")
	// ErrTooMany is returned for more backups than maxFiles at a place.
	ErrTooMany = fmt.Errorf("too_many: there are more than %d backups", maxFiles)
)

// maxFiles is how many backups are listed.
const maxFiles = 10_000

// Forms is what places look like, for messages and help.
const Forms = "a directory, or " + s3store.Forms

// OpenPlace opens a place. Nothing is read or made yet. Errors begin with bad_destination, bad_credentials or bad_region.
func OpenPlace(ctx context.Context, place string) (Place, error) {
	if !IsBucket(place) {
		return dir(place), nil
	}
	b, err := s3store.Open(ctx, "destination", place)
	if err != nil {
		return nil, err
	}
	return &bucket{b, place}, nil
}

// OpenFor opens a place for the backups of a table in a directory, which it must not be in. Errors are those of OpenPlace.
func OpenFor(ctx context.Context, data, place string) (Place, error) {
	if !IsBucket(place) {
		inside, err := within(data, place)
		if err != nil {
			return nil, fmt.Errorf("bad_destination: %w", err)
		}
		if inside {
			return nil, fmt.Errorf("bad_destination: %s is inside the table's directory %s, which must hold nothing else: choose a directory outside it, preferably on another disk", place, data)
		}
	}
	return OpenPlace(ctx, place)
}

// within reports whether a path is a directory, or below it.
func within(dir, path string) (bool, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return false, err
	}
	if path, err = filepath.Abs(path); err != nil {
		return false, err
	}
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel), err
}

// IsBucket reports whether a place is not a directory.
func IsBucket(place string) bool { return strings.Contains(place, "://") }

// add adds a file to a list if its name is that of a backup.
func add(files []File, name string, size func() (int64, error)) ([]File, error) {
	n, ok := ParseName(name)
	if !ok {
		return files, nil
	}
	if len(files) == maxFiles {
		return nil, ErrTooMany
	}
	bytes, err := size()
	if errors.Is(err, ErrNone) { // somebody has deleted it
		return files, nil
	}
	return append(files, File{n, bytes}), err
}

// sorted are files in the order of their times.
func sorted(files []File) []File {
	slices.SortFunc(files, func(a, b File) int {
		return cmp.Or(a.Time.Compare(b.Time), strings.Compare(a.Name.String(), b.Name.String()))
	})
	return files
}
