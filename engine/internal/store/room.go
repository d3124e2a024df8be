package store

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/smithy-go"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/onefold/onefold/dynamo"
)

// Write is a kind of write, by what it does to the room on the disk.
type Write int

const (
	// Growth leaves more behind than there was. It is refused when the disk has less room than the reserve.
	Growth Write = iota
	// Shrinkage leads to room, sooner or later: deletes, expiry, trimming. The reserve is for it, all but a quarter: that is
	// left to the files which Pebble writes anew before it drops others.
	Shrinkage
)

// Defaults of the reserve: the larger of the two.
const (
	leastReserve  = 256 << 20
	reservedShare = 100 // of the file system, one part
)

// How long, and for how many bytes, what is known of the disk is believed while there is room: other processes fill it, too. To
// look takes a microsecond.
const (
	believed      = 10 * time.Millisecond
	believedBytes = 1 << 20
)

// retryAfter is when a refused write may be sent again.
const retryAfter = 5 * time.Second

// Space is what is known of the room on the disk, in bytes.
type Space struct {
	Known   bool  // the file system tells
	Free    int64 // to this process
	Total   int64
	Reserve int64
	Full    bool // growth is refused
}

// room decides which writes there is room for.
type room struct {
	usage   func() (vfs.DiskUsage, error)
	reserve int64 // negative: none; 0: the default

	blocked atomic.Bool  // a table did not fit, and none was written since
	tries   atomic.Int64 // flushes and compactions that failed since a table was written
	tables  atomic.Int64 // that are being written, or wait for it
	last    atomic.Pointer[error]

	failures atomic.Int64 // flushes and compactions that ever failed
	space    atomic.Pointer[Space]
	bytes    atomic.Int64 // written since the last look

	mu     sync.Mutex // guards what follows; held while looking
	looked time.Time
	seen   int64 // tries at the watch's last look
	open   int64 // tables then
	idle   int   // looks since both changed
}

// admit refuses a write of so many bytes for which there is no room.
func (r *room) admit(w Write, bytes int) error {
	s := r.know(int64(bytes))
	switch {
	case r.blocked.Load():
	case !s.Known || r.reserve < 0:
		return nil
	case w == Growth && s.Free < s.Reserve:
	case s.Free < s.Reserve/4:
	default:
		return nil
	}
	return &dynamo.Failure{Kind: dynamo.Full, After: retryAfter, Err: &smithy.GenericAPIError{
		Code: "ServiceUnavailable", Fault: smithy.FaultServer,
		Message: fmt.Sprintf("disk_full: The disk has %d MB free and keeps %d MB in reserve. Free space, or enlarge the disk; then send this again", s.Free>>20, s.Reserve>>20),
	}}
}

// know returns what is known of the disk, and looks when that is too old. While there is no room it looks each time, so
// that the store takes writes as soon as there is.
func (r *room) know(bytes int64) Space {
	written := r.bytes.Add(bytes)
	if s := r.space.Load(); s != nil && !s.Full && written < believedBytes {
		r.mu.Lock()
		fresh := time.Since(r.looked) < believed
		r.mu.Unlock()
		if fresh {
			return *s
		}
	}
	return r.look()
}

// look asks the file system.
func (r *room) look() Space {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := spaceOf(r.usage, r.reserve)
	s.Full = s.Full || r.blocked.Load()
	r.looked = time.Now()
	r.bytes.Store(0)
	r.space.Store(&s)
	return s
}

// spaceOf is what a file system tells, compared with a reserve.
func spaceOf(usage func() (vfs.DiskUsage, error), reserve int64) Space {
	u, err := usage()
	if err != nil {
		return Space{}
	}
	s := Space{Known: true, Free: int64(u.AvailBytes), Total: int64(u.TotalBytes), Reserve: reserve}
	if reserve == 0 {
		s.Reserve = max(leastReserve, s.Total/reservedShare)
	}
	s.Full = reserve >= 0 && s.Free < s.Reserve
	return s
}

// SpaceAt is the room on the disk of a directory, which need not hold a store.
func SpaceAt(fs vfs.FS, dir string, reserve int64) Space {
	return spaceOf(func() (vfs.DiskUsage, error) { return fs.GetDiskUsage(dir) }, reserve)
}

// block notes that a table did not fit.
func (r *room) block() { r.blocked.Store(true) }

// failed notes that a flush or compaction has.
func (r *room) failed(err error) {
	r.last.Store(&err)
	r.tries.Add(1)
	r.failures.Add(1)
}

// why is what the last of them failed by.
func (r *room) why() error {
	if err := r.last.Load(); err != nil {
		return *err
	}
	return nil
}

// unblock notes that one did.
func (r *room) unblock() {
	r.blocked.Store(false)
	r.tries.Store(0)
}

// After how many looks of the watch writes are admitted again: without an attempt to write a table, and while one goes on that shows
// nothing new.
const idleLooks, busyLooks = 3, 60

// revive admits writes again when nothing is left that would be written as a table and show that there is room: a compaction that
// failed is not always repeated, because another one may have done its work, and no flush comes while writes are refused. If
// there still is no room, the next flush finds out.
func (r *room) revive() {
	r.mu.Lock()
	defer r.mu.Unlock()
	tries, tables := r.tries.Load(), r.tables.Load()
	if !r.blocked.Load() || tries != r.seen || tables != r.open {
		r.seen, r.open, r.idle = tries, tables, 0
		return
	}
	r.idle++
	if r.idle >= busyLooks || r.idle >= idleLooks && tables == 0 {
		r.idle = 0
		r.blocked.Store(false)
	}
}

// Pebble repeats a flush or compaction that failed at once, if it is still to be done.
const (
	firstPause = 10 * time.Millisecond
	mostPause  = time.Second
)

// pause waits before a table is written after failures, longer each time.
func (r *room) pause(over <-chan struct{}) {
	tries := r.tries.Load()
	if tries == 0 {
		return
	}
	wait := time.NewTimer(min(firstPause<<min(tries-1, 10), mostPause))
	defer wait.Stop()
	select {
	case <-wait.C:
	case <-over:
	}
}
