package warehouse

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
)

// Objects stores a warehouse: named objects that are written as a whole. Names are paths with
// slashes. Implementations must be safe for concurrent use.
type Objects interface {
	// Put stores an object and replaces an existing one of that name. When Put returns, the object
	// is durable. Readers never see a partial object.
	Put(ctx context.Context, name string, body io.ReadSeeker) error
	// PutIfAbsent stores a small object. It returns ErrExists if an object of that name exists. If
	// several writers put the same name at the same time, one of them succeeds. After any other
	// error, the object may or may not exist.
	PutIfAbsent(ctx context.Context, name string, body []byte) error
	// Open opens an object for reading. Errors: ErrNotFound if the object does not exist.
	Open(ctx context.Context, name string) (Object, error)
	// List yields the names that begin with a prefix, which ends with a slash, and that are greater
	// than after, unless after is empty. It includes every object that was put before the call and
	// leaves out those deleted before it. Names in one folder are in order.
	List(ctx context.Context, prefix, after string) iter.Seq2[string, error]
	// Delete deletes objects. Objects that do not exist are ignored.
	Delete(ctx context.Context, names ...string) error
}

// Object is an open object. It must be safe for concurrent use until it is closed.
type Object interface {
	io.ReaderAt
	io.Closer
	Size() int64
}

var (
	// ErrExists is returned by PutIfAbsent if the object exists.
	ErrExists = errors.New("warehouse: the object exists")
	// ErrNotFound is returned for an object that does not exist.
	ErrNotFound = errors.New("warehouse: no such object")
	// ErrDamaged is returned for stored data that differs from what was written.
	ErrDamaged = errors.New("damaged: the warehouse")
	// ErrFormat is returned for a warehouse that a later version of the program wrote.
	ErrFormat = errors.New("format: the warehouse was written by a newer version of the program")
)

// maxMeta is the largest size in bytes of an object of the log that is read.
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
