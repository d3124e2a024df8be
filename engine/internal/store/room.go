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

// Write classifies writes by their effect on disk space.
type Write int

const (
	// Growth increases the stored data. It is rejected if less space than the reserve is free.
	Growth Write = iota
	// Shrinkage eventually frees space: deletes, expiry, trimming. It may use the reserve except
	// for a quarter, which is left for files that Pebble rewrites before it deletes others.
	Shrinkage
)

// Defaults of the reserve, of which the larger applies.
const (
	leastReserve  = 256 << 20
	reservedShare = 100 // fraction of the file system: one part in this many
)

// How long, and for how many written bytes, the last known free space is trusted as long as there
// is enough. Other processes use the disk too, and a check takes only a microsecond.
const (
	believed      = 10 * time.Millisecond
	believedBytes = 1 << 20
)

// retryAfter is when a client may repeat a rejected write.
const retryAfter = 5 * time.Second

// Space is the known disk space, in bytes.
type Space struct {
	Known   bool  // the file system reports it
	Free    int64 // available to this process
	Total   int64
	Reserve int64
	Full    bool // growth is rejected
}

// room decides for which writes there is space.
type room struct {
	usage   func() (vfs.DiskUsage, error)
	reserve int64 // negative: none; 0: the default

	blocked atomic.Bool  // a row file did not fit, and none was written since
	tries   atomic.Int64 // failed flushes and compactions since a row file was written
	tables  atomic.Int64 // row files that are being written, or wait
	last    atomic.Pointer[error]

	failures atomic.Int64 // all failed flushes and compactions
	space    atomic.Pointer[Space]
	bytes    atomic.Int64 // written since the last check

	mu     sync.Mutex // guards the fields below; held during a check
	looked time.Time
	seen   int64 // tries at the watch's last check
	open   int64 // tables at the watch's last check
	idle   int   // checks since either changed
}

// admit rejects a write of the given size if there is no space for it.
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

// know returns the free space and checks it if the known value is too old. While there is too
// little, it checks each time, so that the store accepts writes as soon as possible.
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

// look queries the file system.
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

// spaceOf returns the space of a file system, compared with a reserve.
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

// SpaceAt returns the space on the disk of a directory, which need not contain a store.
func SpaceAt(fs vfs.FS, dir string, reserve int64) Space {
	return spaceOf(func() (vfs.DiskUsage, error) { return fs.GetDiskUsage(dir) }, reserve)
}

// block records that a row file did not fit.
func (r *room) block() { r.blocked.Store(true) }

// failed records a failed flush or compaction.
func (r *room) failed(err error) {
	r.last.Store(&err)
	r.tries.Add(1)
	r.failures.Add(1)
}

// why returns the error of the last failure.
func (r *room) why() error {
	if err := r.last.Load(); err != nil {
		return *err
	}
	return nil
}

// unblock records that a row file was written.
func (r *room) unblock() {
	r.blocked.Store(false)
	r.tries.Store(0)
}

// Number of checks of the watch after which writes are accepted again: if no row file is being
// written, and if one is but nothing changes.
const idleLooks, busyLooks = 3, 60

// revive accepts writes again if no row file is left to be written that could show whether there is
// space. A failed compaction is not always repeated, because another one may have done its work,
// and there are no flushes while writes are rejected. If there still is no space, the next flush
// finds out.
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

// Pebble repeats a failed flush or compaction at once, if it is still necessary.
const (
	firstPause = 10 * time.Millisecond
	mostPause  = time.Second
)

// pause waits before a row file is written after failures, with increasing duration.
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
