package blocklist

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// lookEvery is how often a Live checks whether its file was replaced.
const lookEvery = time.Minute

// Live is a list whose file may appear and change while it is used. If the file disappears or
// becomes invalid, the previous list stays in use. It is safe for concurrent use.
type Live[L any] struct {
	file string
	read func(io.Reader) (*L, error)
	list atomic.Pointer[L]

	mu   sync.Mutex  // held by Look
	seen os.FileInfo // of the file of list
}

// NewLive returns a Live for a file, which need not exist. Look reads it.
func NewLive[L any](file string, read func(io.Reader) (*L, error)) *Live[L] {
	return &Live[L]{file: file, read: read}
}

// List returns the present list, or nil if there is none.
func (l *Live[L]) List() *L {
	if l == nil {
		return nil
	}
	return l.list.Load()
}

// Look reads the file if it has changed. Errors: ErrList, those of the file system.
func (l *Live[L]) Look() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	f, err := os.Open(l.file)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // only read
	info, err := f.Stat()
	if err != nil || l.seen != nil && os.SameFile(l.seen, info) && l.seen.Size() == info.Size() && l.seen.ModTime().Equal(info.ModTime()) {
		return err
	}
	list, err := l.read(f)
	if err != nil {
		return fmt.Errorf("%s: %w", l.file, err)
	}
	l.list.Store(list)
	l.seen = info
	return nil
}

// Run looks at the file once a minute, until ctx ends. It fails if the file cannot be used.
func (l *Live[L]) Run(ctx context.Context) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		if err := l.Look(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}
