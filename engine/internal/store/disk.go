package store

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/onefold/onefold/engine/internal/damage"
)

// ErrFatal is returned once the store has failed to write something essential.
var ErrFatal = errors.New("engine: the disk failed")

// disk is the file system of a store. It decides the consequences of a write error before Pebble
// sees it. Otherwise Pebble would panic with locks held if it cannot write its log or manifest, and
// a server that recovers the panic would hang.
//
//   - If a row file does not fit on the disk (ENOSPC), the flush or compaction fails and Pebble
//     repeats it. Until one succeeds, the store accepts no writes.
//   - If the end of the log does not fit while the store is being closed, the disk is dead, but
//     nobody is notified: all that was acknowledged is in the log, as after a crash.
//   - Any other failed write to a file of the store is fatal: the caller is notified, and the disk
//     is dead.
//
// Nothing is written to a dead disk. Later writes of Pebble go to a file system in memory, so that
// every call returns and the store can be closed. The store returns ErrFatal for all of them.
type disk struct {
	vfs.FS
	dir     string
	room    *room
	onFatal func(error) // called once, in the goroutine that got the error
	opened  atomic.Bool // the store is open; before that, fatal errors are returned by Open
	closing atomic.Bool // the store is being closed, and all writes to it have ended

	once    sync.Once
	dead    atomic.Pointer[error]
	unended bool       // it died because the end of the log did not fit; valid once dead is set
	after   *vfs.MemFS // receives writes after death
	over    chan struct{}
	end     func()      // closes over, at death or when the store is closed
	ops     operations  // writes in progress
	held    atomic.Bool // Pebble makes writers wait for row files
	stuck   int         // checks at which held was set while row files could not be written; used by watch only

	syncs  latency // of the log
	stalls stalls
}

func newDisk(fs vfs.FS, dir string, r *room, onFatal func(error)) *disk {
	d := &disk{FS: fs, dir: fs.PathDir(fs.PathJoin(dir, "file")), room: r, onFatal: onFatal, after: vfs.NewMem(), over: make(chan struct{}), stalls: stalls{now: time.Now}}
	d.end = sync.OnceFunc(func() { close(d.over) })
	return d
}

// failure returns why the disk is dead, or nil.
func (d *disk) failure() error {
	if err := d.dead.Load(); err != nil {
		return *err
	}
	return nil
}

// fail makes the disk dead and reports it.
func (d *disk) fail(cause error) {
	d.once.Do(func() {
		err := fmt.Errorf("%w: %w", ErrFatal, cause)
		d.unended = d.closing.Load() && vfs.IsNoSpaceError(cause)
		d.dead.Store(&err)
		d.end()
		if d.opened.Load() && !d.unended {
			d.onFatal(err)
		}
	})
}

// owns reports whether a file belongs to the store itself. Files of backups are in other
// directories.
func (d *disk) owns(name string) bool { return d.FS.PathDir(name) == d.dir }

// judge decides the consequences of an error when writing a file of the store, and returns the
// error for Pebble.
func (d *disk) judge(table bool, err error) error {
	switch {
	case err == nil:
		return nil
	case table && vfs.IsNoSpaceError(err) && d.opened.Load(): // while opening, Pebble would wait for it forever
		d.room.block()
		return err
	}
	d.fail(err)
	if table {
		return err
	}
	return nil // the store continues in memory
}

// inMemory returns a file's name after death.
func (d *disk) inMemory(name string) string { return "/" + d.FS.PathBase(name) }

// Create implements vfs.FS.
func (d *disk) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if !d.owns(name) {
		return d.FS.Create(name, category)
	}
	table := isTable(name)
	if table {
		d.room.tables.Add(1)
		d.room.pause(d.over)
	}
	f, err := d.open(name, table, func() (vfs.File, error) {
		// Pebble names its manifest in the name of a marker file, and syncs the directory once for
		// both. A power loss before that could leave only the marker.
		if strings.HasPrefix(d.FS.PathBase(name), "marker.") {
			if err := syncDir(d.FS, d.dir); err != nil {
				return nil, err
			}
		}
		return d.FS.Create(name, category)
	})
	if _, counted := f.(*file); table && !counted { // a counted file stops counting when it is closed
		d.room.tables.Add(-1)
	}
	return f, err
}

// ReuseForWrite implements vfs.FS.
func (d *disk) ReuseForWrite(old, name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return d.open(name, false, func() (vfs.File, error) { return d.FS.ReuseForWrite(old, name, category) })
}

// open opens a file of the store for writing, in memory after death.
func (d *disk) open(name string, table bool, open func() (vfs.File, error)) (vfs.File, error) {
	if d.failure() == nil {
		done := d.ops.begin()
		f, err := open()
		done()
		if err == nil {
			return &file{File: f, d: d, table: table, log: strings.HasSuffix(name, ".log")}, nil
		}
		if err := d.judge(table, err); err != nil {
			return nil, err
		}
	}
	return d.after.Create(d.inMemory(name), vfs.WriteCategoryUnspecified)
}

// Open implements vfs.FS.
func (d *disk) Open(name string, o ...vfs.OpenOption) (vfs.File, error) {
	if d.failure() != nil && d.owns(name) {
		if f, err := d.after.Open(d.inMemory(name), o...); err == nil {
			return f, nil
		}
	}
	return d.FS.Open(name, o...)
}

// OpenDir implements vfs.FS.
func (d *disk) OpenDir(name string) (vfs.File, error) {
	f, err := d.FS.OpenDir(name)
	if err != nil || !d.owns(d.FS.PathJoin(name, "file")) {
		return f, err
	}
	return &file{File: f, d: d}, nil
}

// Stat implements vfs.FS.
func (d *disk) Stat(name string) (vfs.FileInfo, error) {
	if d.failure() != nil && d.owns(name) {
		if info, err := d.after.Stat(d.inMemory(name)); err == nil {
			return info, nil
		}
	}
	return d.FS.Stat(name)
}

// Remove implements vfs.FS. A failed removal is not fatal: it only wastes space.
func (d *disk) Remove(name string) error {
	if d.failure() == nil || !d.owns(name) {
		return d.FS.Remove(name)
	}
	_ = d.after.Remove(d.inMemory(name)) // the file may be from before death
	return nil
}

// Rename implements vfs.FS.
func (d *disk) Rename(from, to string) error {
	switch {
	case !d.owns(to):
		return d.FS.Rename(from, to)
	case d.failure() == nil:
		return d.judge(false, d.FS.Rename(from, to))
	}
	_ = d.after.Rename(d.inMemory(from), d.inMemory(to)) // the file may be from before death
	return nil
}

// Link implements vfs.FS. Only backups and checkpoints use links, so the error is theirs.
func (d *disk) Link(from, to string) error {
	if err := d.failure(); err != nil {
		return err
	}
	return d.FS.Link(from, to)
}

// Unwrap implements vfs.FS.
func (d *disk) Unwrap() vfs.FS { return d.FS }

// isTable reports whether a file holds rows. Until it is complete, its rows are stored elsewhere as
// well.
func isTable(name string) bool {
	n := len(name)
	return n > 4 && name[n-4:] == ".sst" || n > 5 && name[n-5:] == ".blob"
}

// file is a file of the store open for writing, or its directory.
type file struct {
	vfs.File
	d      *disk
	table  bool
	log    bool
	closed atomic.Bool
}

// do performs a write unless the disk is dead.
func (f *file) do(write func() error) error {
	if err := f.d.failure(); err != nil {
		if f.table {
			return err // Pebble writes the row file again, to memory
		}
		return nil
	}
	done := f.d.ops.begin()
	err := write()
	done()
	return f.d.judge(f.table, err)
}

// Write implements vfs.File.
func (f *file) Write(p []byte) (int, error) {
	err := f.do(func() error {
		n, err := f.File.Write(p)
		if err == nil && n < len(p) {
			err = io.ErrShortWrite
		}
		return err
	})
	if err != nil {
		return 0, err
	}
	return len(p), nil
}

// Sync implements vfs.File.
func (f *file) Sync() error { return f.synced(f.do(f.timed(f.File.Sync))) }

// SyncData implements vfs.File.
func (f *file) SyncData() error { return f.synced(f.do(f.timed(f.File.SyncData))) }

// timed measures the duration of a log sync, after which writes are acknowledged.
func (f *file) timed(sync func() error) func() error {
	if !f.log {
		return sync
	}
	return func() error {
		began := time.Now()
		err := sync()
		f.d.syncs.add(time.Since(began))
		return err
	}
}

// synced passes on the result of a sync. A row file that is on disk shows that there is space
// again.
func (f *file) synced(err error) error {
	if err == nil && f.table {
		f.d.room.unblock()
	}
	return err
}

// SyncTo implements vfs.File.
func (f *file) SyncTo(length int64) (full bool, err error) {
	err = f.do(func() error {
		full, err = f.File.SyncTo(length)
		return err
	})
	return full, err
}

// Close implements vfs.File.
func (f *file) Close() error {
	err := f.File.Close()
	if f.table && !f.closed.Swap(true) {
		f.d.room.tables.Add(-1)
	}
	if f.d.failure() != nil {
		return nil
	}
	return f.d.judge(f.table, err)
}

// operations tracks how long writes are in progress. It counts checks of the watch instead of using
// a clock: a suspended machine makes no checks.
type operations struct {
	mu    sync.Mutex
	next  uint64
	begun map[uint64]int // by running operation: number of checks since it began
}

// begin records the start of a write. done must be called when it has returned.
func (o *operations) begin() (done func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.begun == nil {
		o.begun = map[uint64]int{}
	}
	id := o.next
	o.next++
	o.begun[id] = 0
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		delete(o.begun, id)
	}
}

// look returns the number of checks during which the longest write has been in progress.
func (o *operations) look() (most int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for id := range o.begun {
		o.begun[id]++
		most = max(most, o.begun[id])
	}
	return most
}

// The watch checks once a second. A write that has not returned after stallLooks checks is fatal:
// callers wait for it, and a disk that stalls so long may not recover. The same holds for writers
// that wait for row files which cannot be written.
const (
	lookEvery  = time.Second
	stallLooks = 60
)

// look performs one check of the watch.
func (d *disk) look() {
	d.room.revive()
	if d.stuck++; !d.held.Load() || d.room.tries.Load() == 0 {
		d.stuck = 0
	}
	switch limit := stallLooks * lookEvery; {
	case d.ops.look() > stallLooks:
		d.fail(fmt.Errorf("a write has taken longer than %v", limit))
	case d.stuck > damageLooks && pebble.IsCorruptionError(d.room.why()):
		d.fail(fmt.Errorf("memory cannot be flushed to tables: %w; restore a backup, or save readable data with `onefold dynamodb salvage`", damage.Of(d.room.why())))
	case d.stuck > stallLooks:
		d.fail(fmt.Errorf("memory could not be flushed to tables for %v: %w", limit, d.room.why()))
	}
}

// damageLooks is how many checks writers may wait for the compaction of a damaged file, for which
// retries are useless.
const damageLooks = 3

// watch checks until the store is closed or the disk is dead.
func (d *disk) watch() {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-d.over:
			return
		case <-tick.C:
			d.look()
		}
	}
}
