// Package spool keeps records on disk, durably and in order, until somebody has done with them: for work that was
// acknowledged and that the place where it belongs cannot take now. It is bounded, survives kill -9 and power loss, and
// knows nothing of what it keeps. A record may come out more than once after a crash, never in another order.
//
// A spool is a directory of segments, which are only appended to, and deleted when all that is in them was done. An append
// returns when its records are on disk; appends that come at the same time share the wait for it. docs/format/spool.md
// describes the bytes.
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

// Options configure a Spool. The zero value is good.
type Options struct {
	MaxBytes     int64  // on disk; default 1 GiB. What does not fit is refused
	For          string // what the records are for: while some wait for another, Open refuses; "": does not matter
	SegmentBytes int64  // after which a segment is followed by another; default a sixteenth of MaxBytes, 16 MiB at most

	create func(name string) (file, error) // tests replace it
}

// file is what a segment is written to.
type file interface {
	WriteAt(p []byte, off int64) (int, error)
	Sync() error
	Close() error
}

var (
	// ErrFull is returned when records do not fit any more.
	ErrFull = errors.New("spool_full: what waits for the store has filled its place; send it again later")
	// ErrInUse is returned when another process has the directory open.
	ErrInUse = errors.New("spool_in_use: another process keeps what waits there; choose another directory")
	// ErrVersion is returned by Open when another version of the format is there; nothing is changed then.
	ErrVersion = errors.New("spool_version: another version of onefold wrote what waits there; start that one until none waits")
	// ErrClosed is returned after Close.
	ErrClosed = errors.New("spool_closed: the spool is closed")
)

// togetherMost is how many appends are written at once.
const togetherMost = 64

// maxRecord is the most bytes that a record has.
const maxRecord = 1 << 20

// Record is one thing that waits.
type Record struct {
	Kind byte      // says who understands it
	At   time.Time // when it came, in whole milliseconds
	Body []byte
}

// Position is a place between records.
type Position struct {
	segment uint64
	offset  int64
	records int // between the position that was before it and this one
}

// Spool keeps records. Make one with Open; it is safe for concurrent use, but for Peek and Done, which one drainer calls.
type Spool struct {
	dir  string
	o    Options
	lock *os.File
	add  *groupcommit.Group[[]Record, error]

	writing sync.Mutex // held while bytes are written, and while the last segment is given up
	current file       // nil: the next append begins a segment

	mu       sync.Mutex
	segments []*segment // by number; the last one may be written to
	at       int64      // the drainer's offset in the first
	next     uint64     // number of the segment to come
	closed   bool
	oldest   time.Time // of the first record that waits
	stats    Stats     // counters

	waiting atomic.Int64
	came    chan struct{} // holds one when something was appended
}

// segment is one file.
type segment struct {
	number  uint64
	salt    [saltBytes]byte
	end     int64 // up to which it is on disk
	records int   // that wait
}

// Stats tells what a spool holds and did since it was opened.
type Stats struct {
	Records         int64 // that wait
	Bytes, MaxBytes int64 // on disk
	Oldest          time.Time
	Appended, Done  int64
	Refused         int64 // records that did not fit, or could not be written
	Torn            int64 // bytes of a last append that was never acknowledged
	Damaged         int64 // bytes that cannot be read; what was in them is lost
}

// Open opens a directory, and makes it if there is none. Errors: ErrInUse, ErrOther, ErrVersion; those of the disk.
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
	s.add = groupcommit.New(togetherMost, 1, s.write)
	if err := s.load(); err != nil {
		return nil, errors.Join(fmt.Errorf("spool: %w", err), lock.Close())
	}
	if err := s.claim(); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return s, nil
}

// Close ends appending. What waits stays on disk. A nil Spool has nothing to close.
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

// Waiting reports whether there are records: what comes now goes behind them.
func (s *Spool) Waiting() bool { return s.waiting.Load() > 0 }

// Came has a value after an append.
func (s *Spool) Came() <-chan struct{} { return s.came }

// Stats tells what the spool holds.
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

// bytes is what the segments take on disk. The caller holds mu.
func (s *Spool) bytes() (n int64) {
	for _, seg := range s.segments {
		n += seg.end
	}
	return n
}

// Append keeps records. When it returns nil, they are on disk. Errors: ErrFull, ErrClosed; those of the disk, and then the
// records may come out all the same.
func (s *Spool) Append(ctx context.Context, records []Record) error {
	if len(records) == 0 {
		return nil
	}
	for i := range records {
		if len(records[i].Body) > maxRecord {
			return fmt.Errorf("spool: a record of %d bytes: at most %d", len(records[i].Body), maxRecord)
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return s.add.Do(ctx, records)
}
