package geo

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// lookEvery is how often a Live looks whether its file is another one.
const lookEvery = time.Minute

// Live is a database that may come, change and go while addresses are looked up. Until there is one, no place is known. It is safe for
// concurrent use.
type Live struct {
	file string

	mu   sync.RWMutex // held for reading by lookups
	db   *DB          // nil: there is none
	seen os.FileInfo  // of the file that db was made of

	failed atomic.Pointer[error] // of a lookup, until Run has told of it
}

// NewLive returns one of a file, which need not be there. Look opens it.
func NewLive(file string) *Live { return &Live{file: file} }

// Look opens the file if it is there and another than before. One that cannot be opened leaves the database before it in use.
// Errors: ErrDatabase.
func (l *Live) Look() error {
	info, err := os.Stat(l.file)
	if err != nil {
		return fmt.Errorf("geo: %w: %w", ErrDatabase, err)
	}
	l.mu.RLock()
	same := l.seen != nil && os.SameFile(l.seen, info) && l.seen.Size() == info.Size() && l.seen.ModTime().Equal(info.ModTime())
	l.mu.RUnlock()
	if same {
		return nil
	}
	db, err := Open(l.file)
	if err != nil {
		return err
	}
	return l.set(db, info)
}

// set puts another database in the place of the one before, which it closes.
func (l *Live) set(db *DB, of os.FileInfo) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	old := l.db
	l.db, l.seen = db, of
	if old == nil {
		return nil
	}
	return old.Close()
}

// Run looks at the file once a minute, until ctx ends. It fails when there is none that can be opened, and when lookups have failed.
func (l *Live) Run(ctx context.Context) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		if err := l.Look(); err != nil {
			return err
		}
		if err := l.failed.Swap(nil); err != nil {
			return *err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// Lookup returns the place of an address; an empty one if it is not known. Run tells of a database that cannot be read.
func (l *Live) Lookup(address netip.Addr) Place {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.db == nil {
		return Place{}
	}
	place, err := l.db.Lookup(address)
	if err != nil {
		l.failed.Store(&err)
	}
	return place
}

// Close releases the file. No place is known any more.
func (l *Live) Close() error { return l.set(nil, nil) }
