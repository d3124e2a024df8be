package warehouse

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
)

// Objects is where a warehouse is: named objects that are put whole. Names are paths with slashes. It is safe for
// concurrent use.
type Objects interface {
	// Put stores an object, durably when it returns; one of that name is replaced. Nobody sees a part of it.
	Put(ctx context.Context, name string, body io.ReadSeeker) error
	// PutIfAbsent stores an object that is small. Errors: ErrExists when there is one of that name; of several who put
	// at the same time one succeeds. After another error it may be there or not.
	PutIfAbsent(ctx context.Context, name string, body []byte) error
	// Open opens an object to read. Errors: ErrNotFound.
	Open(ctx context.Context, name string) (Object, error)
	// List yields the names that begin with a prefix, which ends with a slash, and are greater than after, if that is not
	// empty: all that were put before, without those that were deleted before. Names in one folder are in order.
	List(ctx context.Context, prefix, after string) iter.Seq2[string, error]
	// Delete deletes objects. Absent ones are no error.
	Delete(ctx context.Context, names ...string) error
}

// Object is an object that was opened. It is safe for concurrent use until it is closed.
type Object interface {
	io.ReaderAt
	io.Closer
	Size() int64
}

var (
	// ErrExists is returned by PutIfAbsent.
	ErrExists = errors.New("warehouse: the object exists")
	// ErrNotFound is returned for an object that does not exist.
	ErrNotFound = errors.New("warehouse: no such object")
	// ErrDamaged is returned for what is not as it was written.
	ErrDamaged = errors.New("damaged: the warehouse")
	// ErrFormat is returned for a warehouse of a later program.
	ErrFormat = errors.New("format: the warehouse is of a later version of the program")
)

// maxMeta bounds what is read of the log at once, in bytes.
const maxMeta = 1 << 30

// readAll reads a small object.
func readAll(ctx context.Context, o Objects, name string) ([]byte, error) {
	f, err := o.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if f.Size() > maxMeta {
		return nil, fmt.Errorf("%w: %s has %d bytes", ErrDamaged, name, f.Size())
	}
	b := make([]byte, f.Size())
	if n, err := f.ReadAt(b, 0); n < len(b) {
		return nil, fmt.Errorf("warehouse: read %s: %w", name, err)
	}
	return b, nil
}
