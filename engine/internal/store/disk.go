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

// ErrFatal is returned once the store could not write something that it cannot do without.
var ErrFatal = errors.New("engine: the disk failed")

// disk is the file system of a store. It decides what a write error means, before Pebble sees it: Pebble panics when its
// log or manifest cannot be written, with locks held, and a server that recovers such a panic hangs from then on.
//
//   - A table that does not fit on the disk (ENOSPC) is an error of a flush or compaction, which Pebble repeats. Until one
//     succeeds, the store takes no writes.
//   - Any other failed write to a file of the store is fatal: the caller is told, and the disk is dead.
//
// Nothing reaches a dead disk. What Pebble writes from then on goes to a file system in memory, so that every call returns
// and the store can be closed; the store answers all of them with ErrFatal.
type disk struct {
	vfs.FS
	dir     string
	room    *room
	onFatal func(error) // called once, in the goroutine that met the error
	opened  atomic.Bool // the store is open: before, a fatal error is one of opening

	once  sync.Once
	dead  atomic.Pointer[error]
	after *vfs.MemFS // what is written after death
	over  chan struct{}
	end   func()      // closes over: at death, or when the store is closed
	ops   operations  // writes under way
	held  atomic.Bool // Pebble lets writers wait until tables are written
	stuck int         // looks at which it did, while tables could not be written; the watch's

	syncs  latency // of the log
	stalls stalls
}

func newDisk(fs vfs.FS, dir string, r *room, onFatal func(error)) *disk {
	d := &disk{FS: fs, dir: fs.PathDir(fs.PathJoin(dir, "file")), room: r, onFatal: onFatal, after: vfs.NewMem(), over: make(chan struct{}), stalls: stalls{now: time.Now}}
	d.end = sync.OnceFunc(func() { close(d.over) })
	return d
}

// failure is why the disk is dead; nil while it is not.
func (d *disk) failure() error {
	if err := d.dead.Load(); err != nil {
		return *err
	}
	return nil
}

// fail makes the disk dead and tells of it.
func (d *disk) fail(cause error) {
	d.once.Do(func() {
		err := fmt.Errorf("%w: %w", ErrFatal, cause)
		d.dead.Store(&err)
		d.end()
		if d.opened.Load() {
			d.onFatal(err)
		}
	})
}

// owns reports whether a name is that of a file of the store itself; those of backups are below its directory, or elsewhere.
func (d *disk) owns(name string) bool { return d.FS.PathDir(name) == d.dir }

// judge decides what the error of a write to a file of the store means. It returns the error for Pebble.
func (d *disk) judge(table bool, err error) error {
	switch {
	case err == nil:
		return nil
	case table && vfs.IsNoSpaceError(err) && d.opened.Load(): // while opening, Pebble would wait for it for ever
		d.room.block()
		return err
	}
	d.fail(err)
	if table {
		return err
	}
	return nil // the store goes on in memory
}

// inMemory is a file's name after death.
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
		// Pebble names its manifest in a marker's name, and syncs the directory once for the two: a power loss before could
		// leave the marker alone.
		if strings.HasPrefix(d.FS.PathBase(name), "marker.") {
			if err := syncDir(d.FS, d.dir); err != nil {
				return nil, err
			}
		}
		return d.FS.Create(name, category)
	})
	if _, counted := f.(*file); table && !counted { // which stops counting when it is closed
		d.room.tables.Add(-1)
	}
	return f, err
}

// ReuseForWrite implements vfs.FS.
func (d *disk) ReuseForWrite(old, name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return d.open(name, false, func() (vfs.File, error) { return d.FS.ReuseForWrite(old, name, category) })
}

// open opens a file of the store for writing; in memory after death.
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

// Remove implements vfs.FS. That a file is left is no reason to stop: it costs room.
func (d *disk) Remove(name string) error {
	if d.failure() == nil || !d.owns(name) {
		return d.FS.Remove(name)
	}
	_ = d.after.Remove(d.inMemory(name)) // of before death
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
	_ = d.after.Rename(d.inMemory(from), d.inMemory(to)) // of before death
	return nil
}

// Link implements vfs.FS. Only backups and checkpoints link: an error is theirs.
func (d *disk) Link(from, to string) error {
	if err := d.failure(); err != nil {
		return err
	}
	return d.FS.Link(from, to)
}

// Unwrap implements vfs.FS.
func (d *disk) Unwrap() vfs.FS { return d.FS }

// isTable reports whether a file holds rows that are elsewhere, too, until it is complete.
func isTable(name string) bool {
	n := len(name)
	return n > 4 && name[n-4:] == ".sst" || n > 5 && name[n-5:] == ".blob"
}

// file is a file of the store that is written, or its directory.
type file struct {
	vfs.File
	d      *disk
	table  bool
	log    bool
	closed atomic.Bool
}

// do carries out a write unless the disk is dead.
func (f *file) do(write func() error) error {
	if err := f.d.failure(); err != nil {
		if f.table {
			return err // Pebble writes the table again, to memory
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

// timed measures a sync of the log: writes are acknowledged when it returns.
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

// synced passes on what became of a sync. A table that is on disk shows that there is room again.
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

// operations knows how long writes have been under way, in looks of a watch rather than by a clock: a machine that was
// suspended has not looked.
type operations struct {
	mu    sync.Mutex
	next  uint64
	begun map[uint64]int // looks since it began, by operation
}

// begin notes a write. done is called when it has returned.
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

// look returns for how many looks the longest write has been under way.
func (o *operations) look() (most int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for id := range o.begun {
		o.begun[id]++
		most = max(most, o.begun[id])
	}
	return most
}

// The watch looks once a second. A write that has not returned after so many looks is fatal: callers wait for it, and a
// disk that stalls for so long may not come back. So are writers that wait for tables which cannot be written.
const (
	lookEvery  = time.Second
	stallLooks = 60
)

// look is one step of the watch.
func (d *disk) look() {
	d.room.revive()
	if d.stuck++; !d.held.Load() || d.room.tries.Load() == 0 {
		d.stuck = 0
	}
	switch limit := stallLooks * lookEvery; {
	case d.ops.look() > stallLooks:
		d.fail(fmt.Errorf("a write has taken longer than %v", limit))
	case d.stuck > damageLooks && pebble.IsCorruptionError(d.room.why()):
		d.fail(fmt.Errorf("what was written cannot be moved to tables: %w; restore a backup, or bring out what can be read with `onefold dynamodb salvage`", damage.Of(d.room.why())))
	case d.stuck > stallLooks:
		d.fail(fmt.Errorf("what was written could not be moved to tables for %v: %w", limit, d.room.why()))
	}
}

// damageLooks is how many looks writers are let wait for a compaction of a damaged table: no try will be better.
const damageLooks = 3

// watch looks until the store is closed, or the disk is dead.
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
