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

// lookEvery is how often a Live checks whether its file was replaced.
const lookEvery = time.Minute

// Live is a database whose file may appear, change and disappear while addresses are looked up.
// While there is no database, no location is known. It is safe for concurrent use.
type Live struct {
	file string

	mu   sync.RWMutex // held for reading by lookups
	db   *DB          // nil if there is none
	seen os.FileInfo  // of the file of db

	failed atomic.Pointer[error] // error of a lookup, until Run has reported it
}

// NewLive returns a Live for a file, which need not exist. Look opens it.
func NewLive(file string) *Live { return &Live{file: file} }

// Look opens the file if it exists and has changed. If it cannot be opened, the previous database
// stays in use. Errors: ErrDatabase.
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

// set replaces the database and closes the previous one.
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

// Run checks the file once a minute, until ctx ends. It fails if there is no file that can be
// opened, and if lookups have failed.
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

// Lookup returns the location of an address, or the zero value if it is unknown. Errors are
// reported by Run.
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

// Close releases the file. No location is known after it.
func (l *Live) Close() error { return l.set(nil, nil) }
