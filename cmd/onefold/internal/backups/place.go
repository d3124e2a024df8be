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

// Place is a directory or a bucket of backups. Files whose names are not those of backups are never
// listed, read or deleted.
type Place interface {
	fmt.Stringer
	// Prepare creates a directory, whose parent must exist, and removes files left behind by killed
	// processes.
	Prepare(ctx context.Context) error
	// List returns the backups, oldest first. Errors: ErrNoPlace, ErrTooMany.
	List(ctx context.Context) ([]File, error)
	// Open opens a backup for reading and returns its size. Errors: ErrNone.
	Open(ctx context.Context, n Name) (io.ReadCloser, int64, error)
	// Write stores the output of write as a backup. When Write returns nil, the backup is durable;
	// otherwise nothing of it remains. Errors: ErrExists, those of write.
	Write(ctx context.Context, n Name, write func(io.Writer) error) error
	// Delete deletes a backup. Deleting a backup that does not exist is not an error.
	Delete(ctx context.Context, n Name) error
}

// File is a stored backup.
type File struct {
	Name
	Bytes int64 // size of the file
}

var (
	// ErrNone is returned if there is no such backup.
	ErrNone = errors.New("no_backup")
	// ErrNoPlace is returned for a directory that does not exist.
	ErrNoPlace = errors.New("no_directory")
	// ErrExists is returned if the name is already in use.
	ErrExists = errors.New("file_exists")
	// ErrTooMany is returned if a place has more than maxFiles backups.
	ErrTooMany = fmt.Errorf("too_many: there are more than %d backups", maxFiles)
)

// maxFiles bounds the number of listed backups.
const maxFiles = 10_000

// Forms describes valid places for messages and help texts.
const Forms = "a directory, or " + s3store.Forms

// OpenPlace opens a place. It does not read or create anything. Errors begin with bad_destination,
// bad_credentials or bad_region.
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

// OpenFor opens a place for backups of the table in the directory data. The place must not be
// inside that directory. Errors are those of OpenPlace.
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

// within reports whether path is dir or is inside it.
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

// IsBucket reports whether a place is a bucket rather than a directory.
func IsBucket(place string) bool { return strings.Contains(place, "://") }

// add appends a file to the list if its name is that of a backup.
func add(files []File, name string, size func() (int64, error)) ([]File, error) {
	n, ok := ParseName(name)
	if !ok {
		return files, nil
	}
	if len(files) == maxFiles {
		return nil, ErrTooMany
	}
	bytes, err := size()
	if errors.Is(err, ErrNone) { // deleted by another process
		return files, nil
	}
	return append(files, File{n, bytes}), err
}

// sorted returns files ordered by time.
func sorted(files []File) []File {
	slices.SortFunc(files, func(a, b File) int {
		return cmp.Or(a.Time.Compare(b.Time), strings.Compare(a.Name.String(), b.Name.String()))
	})
	return files
}
