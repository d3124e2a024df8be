// Package warehousetest helps tests of warehouses. It has objects in memory, ordered faults, and a
// test suite that every implementation of Objects must pass. Only tests use it.
package warehousetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/onefold/onefold/warehouse"
)

// Memory stores objects in memory.
type Memory struct {
	mu      sync.Mutex
	objects map[string][]byte
}

// NewMemory returns an empty Memory.
func NewMemory() *Memory { return &Memory{objects: map[string][]byte{}} }

// Put stores an object.
func (m *Memory) Put(_ context.Context, name string, body io.ReadSeeker) error {
	b, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.objects[name] = b
	return nil
}

// PutIfAbsent stores an object. Errors: ErrExists if the object exists.
func (m *Memory) PutIfAbsent(_ context.Context, name string, body []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.objects[name]; ok {
		return fmt.Errorf("%w: %s", warehouse.ErrExists, name)
	}
	m.objects[name] = bytes.Clone(body)
	return nil
}

type object struct{ *bytes.Reader }

func (object) Close() error { return nil }

// Open opens an object. Errors: ErrNotFound if the object does not exist.
func (m *Memory) Open(_ context.Context, name string) (warehouse.Object, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b, ok := m.objects[name]
	if !ok {
		return nil, fmt.Errorf("%w: %s", warehouse.ErrNotFound, name)
	}
	return object{bytes.NewReader(b)}, nil
}

// List lists names in order.
func (m *Memory) List(_ context.Context, prefix, after string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for _, name := range m.Names() {
			if strings.HasPrefix(name, prefix) && name > after && !yield(name, nil) {
				return
			}
		}
	}
}

// Delete deletes objects.
func (m *Memory) Delete(_ context.Context, names ...string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, name := range names {
		delete(m.objects, name)
	}
	return nil
}

// Names returns the names of all objects, in order.
func (m *Memory) Names() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Sorted(maps.Keys(m.objects))
}

// ErrFault is the injected error of a Faulty.
var ErrFault = errors.New("a fault that the test ordered")

// Fault is a way in which an operation can fail.
type Fault int

// The faults.
const (
	None   Fault = iota
	Before       // the operation fails and does nothing
	After        // the operation is done, but reports a failure
)

// Faulty makes operations of other objects fail. It calls Decide before each operation, one call at
// a time, with the name of the operation and of the object.
type Faulty struct {
	warehouse.Objects
	Decide func(do, name string) Fault

	mu sync.Mutex
}

func (f *Faulty) with(do, name string, run func() error) error {
	f.mu.Lock()
	fault := f.Decide(do, name)
	f.mu.Unlock()
	if fault == Before {
		return fmt.Errorf("%s %s: %w", do, name, ErrFault)
	}
	err := run()
	if fault == After {
		return fmt.Errorf("%s %s: %w", do, name, ErrFault)
	}
	return err
}

// Put may fail.
func (f *Faulty) Put(ctx context.Context, name string, body io.ReadSeeker) error {
	return f.with("put", name, func() error { return f.Objects.Put(ctx, name, body) })
}

// PutIfAbsent may fail.
func (f *Faulty) PutIfAbsent(ctx context.Context, name string, body []byte) error {
	return f.with("put if absent", name, func() error { return f.Objects.PutIfAbsent(ctx, name, body) })
}

// Open may fail.
func (f *Faulty) Open(ctx context.Context, name string) (o warehouse.Object, err error) {
	err = f.with("open", name, func() (err error) {
		o, err = f.Objects.Open(ctx, name)
		return err
	})
	return o, err
}

// List may fail, before it yields any name.
func (f *Faulty) List(ctx context.Context, prefix, after string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		if err := f.with("list", prefix, func() error { return nil }); err != nil {
			yield("", err)
			return
		}
		for name, err := range f.Objects.List(ctx, prefix, after) {
			if !yield(name, err) {
				return
			}
		}
	}
}

// Delete may fail, also after some of the objects are deleted.
func (f *Faulty) Delete(ctx context.Context, names ...string) error {
	for _, name := range names {
		if err := f.with("delete", name, func() error { return f.Objects.Delete(ctx, name) }); err != nil {
			return err
		}
	}
	return nil
}
