// Package livefile reads a file that an operator may replace while it is used.
package livefile

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// lookEvery is how often a File checks whether its file was replaced.
const lookEvery = time.Minute

// File is the content of a file that may appear and change while it is used. If the file disappears or
// becomes invalid, the previous content stays in use. It is safe for concurrent use.
type File[C any] struct {
	path    string
	read    func(io.Reader) (*C, error)
	content atomic.Pointer[C]

	mu   sync.Mutex  // held by Look
	seen os.FileInfo // of the file of content
}

// New returns a File for a path, which need not exist. Look reads it.
func New[C any](path string, read func(io.Reader) (*C, error)) *File[C] {
	return &File[C]{path: path, read: read}
}

// Content returns the present content, or nil if there is none.
func (f *File[C]) Content() *C {
	if f == nil {
		return nil
	}
	return f.content.Load()
}

// Look reads the file if it has changed. Errors: those of reading and of the file system.
func (f *File[C]) Look() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	file, err := os.Open(f.path)
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // only read
	info, err := file.Stat()
	if err != nil || f.seen != nil && os.SameFile(f.seen, info) && f.seen.Size() == info.Size() && f.seen.ModTime().Equal(info.ModTime()) {
		return err
	}
	content, err := f.read(file)
	if err != nil {
		return fmt.Errorf("%s: %w", f.path, err)
	}
	f.content.Store(content)
	f.seen = info
	return nil
}

// Run looks at the file once a minute, until ctx ends. It fails if the file cannot be used.
func (f *File[C]) Run(ctx context.Context) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		if err := f.Look(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}
