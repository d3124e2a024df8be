// Package spool is a durable write-ahead queue on disk: it keeps records, in order, that were
// acknowledged but cannot be stored at the moment. It is bounded, survives kill -9 and power loss,
// and does not interpret its records. After a crash, a record may be returned more than once, but
// never out of order.
//
// A spool is a directory of segments, which are only appended to, and deleted when all their
// records are done. An append returns when its records are on disk; concurrent appends share a
// sync. docs/format/spool.md specifies the bytes.
package spool

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/onefold/onefold/internal/groupcommit"
)

// Options configure a Spool. The zero value has good defaults.
type Options struct {
	MaxBytes     int64  // maximum size on disk; default 1 GiB. Further records are rejected
	For          string // what the records are for: Open fails while some wait for something else; "": no check
	SegmentBytes int64  // size at which a new segment is begun; default a sixteenth of MaxBytes, at most 16 MiB

	create func(name string) (file, error) // replaced by tests
}

// file is the file of a segment being written.
type file interface {
	WriteAt(p []byte, off int64) (int, error)
	Sync() error
	Close() error
}

var (
	// ErrFull is returned when there is no room for the records.
	ErrFull = errors.New("spool_full: the queue for the store is full; send the data again later")
	// ErrInUse is returned when another process has the directory open.
	ErrInUse = errors.New("spool_in_use: another process uses the queue; use another directory")
	// ErrVersion is returned by Open for another version of the format. Nothing is changed then.
	ErrVersion = errors.New("spool_version: another version of onefold wrote the queue; run that version until the queue is empty")
	// ErrClosed is returned after Close.
	ErrClosed = errors.New("spool_closed: the spool is closed")
)

// batchMost is the maximum number of appends written at once.
const batchMost = 64

// maxRecord is the maximum size of a record in bytes.
const maxRecord = 1 << 20

// Record is a waiting record.
type Record struct {
	Kind byte      // selects the sink
	At   time.Time // time of arrival, in whole milliseconds
	Body []byte
}

// Position is a position between records.
type Position struct {
	segment uint64
	offset  int64
	records int // between the previous position and this one
}

// Spool keeps records. Create one with Open. It is safe for concurrent use, except for Peek and
// Done, which only one drainer may call.
type Spool struct {
	dir  string
	o    Options
	lock *os.File
	add  *groupcommit.Group[[]Record, error]

	writing sync.Mutex // held while bytes are written, and while the last segment is closed
	current file       // nil: the next append begins a segment

	mu       sync.Mutex // guards the fields up to stats; may be locked while writing is held, not the other way round
	segments []*segment // sorted by number; the last one may be written to
	at       int64      // the drainer's offset in the first segment
	next     uint64     // number of the next segment
	closed   bool
	oldest   time.Time // of the first waiting record
	stats    Stats     // counters

	waiting atomic.Int64
	came    chan struct{} // has a value after an append
}

// segment is one file.
type segment struct {
	number  uint64
	salt    [saltBytes]byte
	end     int64 // up to which it is on disk
	records int   // number of waiting records
}

// Stats are the contents of a spool, and counters since it was opened.
type Stats struct {
	Records         int64 // waiting records
	Bytes, MaxBytes int64 // on disk
	Oldest          time.Time
	Appended, Done  int64
	Refused         int64 // records that did not fit, or could not be written
	Torn            int64 // bytes of an incomplete last append, which was never acknowledged
	Damaged         int64 // unreadable bytes, whose records are lost
}

// Open opens a directory, and creates it if necessary. Errors: ErrInUse, ErrOther, ErrVersion;
// those of the disk.
func Open(dir string, o Options) (*Spool, error) {
	if o.MaxBytes <= 0 {
		o.MaxBytes = 1 << 30
	}
	if o.SegmentBytes <= 0 {
		o.SegmentBytes = min(max(o.MaxBytes/16, 64<<10), 16<<20)
	}
	if o.create == nil {
		o.create = func(name string) (file, error) { return os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600) }
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("spool: %w", err)
	}
	lock, err := lockFile(filepath.Join(dir, "LOCK"))
	if err != nil {
		return nil, err
	}
	s := &Spool{dir: dir, o: o, lock: lock, came: make(chan struct{}, 1)}
	s.add = groupcommit.New(batchMost, 1, s.write)
	if err := s.load(); err != nil {
		return nil, errors.Join(fmt.Errorf("spool: %w", err), lock.Close())
	}
	if err := s.claim(); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return s, nil
}

// Close stops appending. Waiting records stay on disk. Closing a nil Spool does nothing.
func (s *Spool) Close() error {
	if s == nil {
		return nil
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	s.mu.Unlock()
	var err error
	if s.current != nil {
		err = s.current.Close()
	}
	return errors.Join(err, s.lock.Close())
}

// Waiting reports whether there are waiting records. If so, new records must be appended behind
// them to keep the order.
func (s *Spool) Waiting() bool { return s.waiting.Load() > 0 }

// Came returns a channel that has a value after an append.
func (s *Spool) Came() <-chan struct{} { return s.came }

// Stats returns the contents and counters of the spool.
func (s *Spool) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.stats
	st.Records, st.MaxBytes, st.Bytes = s.waiting.Load(), s.o.MaxBytes, s.bytes()
	if st.Records > 0 {
		st.Oldest = s.oldest
	}
	return st
}

// bytes returns the size of the segments on disk. The caller holds mu.
func (s *Spool) bytes() (n int64) {
	for _, seg := range s.segments {
		n += seg.end
	}
	return n
}

// Append stores records. When it returns nil, they are on disk. Errors: ErrFull, ErrClosed; those
// of the disk, after which the records may still be drained.
func (s *Spool) Append(ctx context.Context, records []Record) error {
	if len(records) == 0 {
		return nil
	}
	for i := range records {
		if len(records[i].Body) > maxRecord {
			return fmt.Errorf("spool: a record has %d bytes; use at most %d", len(records[i].Body), maxRecord)
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return s.add.Do(ctx, records)
}
