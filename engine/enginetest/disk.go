package enginetest

import (
	"bytes"
	"sync"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// DiskFault is a kind of failure of a Disk.
type DiskFault int

// The disk faults.
const (
	Full       DiskFault = iota // ENOSPC until Heal
	Broken                      // EIO, once
	Dead                        // EIO from then on
	ReadOnly                    // EROFS from then on
	OverQuota                   // EDQUOT from then on
	Short                       // once: half of a write is written, and no error is returned
	Torn                        // once: half of a write is written, then EIO
	Stalled                     // one write blocks until Release
	Unread                      // once: a read fails with EIO
	Flipped                     // once: one bit of a write is flipped
	DiskFaults                  // number of faults
)

// String returns the name of the fault.
func (f DiskFault) String() string {
	return [...]string{"full", "broken", "dead", "read-only", "over quota", "short", "torn", "stalled", "unread", "flipped"}[f]
}

// Disk is a file system in which one write or read fails. Removing and linking files never fails.
type Disk struct {
	vfs.FS
	mu     sync.Mutex
	kind   DiskFault
	in     int // operations until the fault; negative: no fault
	hit    bool
	healed bool
	name   string // the file that was hit

	stall   chan struct{} // closed to release the stalled write
	waiting chan struct{} // closed when a write stalls
}

// NewDisk returns a Disk over a file system. It works normally until Break.
func NewDisk(fs vfs.FS) *Disk {
	return &Disk{FS: fs, in: -1, stall: make(chan struct{}), waiting: make(chan struct{})}
}

// Break makes the n-th operation from now fail.
func (f *Disk) Break(kind DiskFault, n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.kind, f.in = kind, n
}

// Heal ends the fault, even if it has not occurred yet. Fault returns the kind of fault.
func (f *Disk) Heal() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.healed = true
}

// Fault is what goes wrong.
func (f *Disk) Fault() DiskFault {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.kind
}

// Hit reports whether the fault has occurred, and in which file.
func (f *Disk) Hit() (bool, string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.hit, f.name
}

// Waiting returns a channel that is closed when a write stalls.
func (f *Disk) Waiting() <-chan struct{} { return f.waiting }

// Release releases the stalled write. Call it at most once.
func (f *Disk) Release() { close(f.stall) }

// Special numbers of bytes for an operation to write.
const (
	whole = -1 // all bytes
	flip  = -2 // all bytes, with one bit flipped
)

// wrong returns the error of an operation, and how many of its n bytes it writes first.
func (f *Disk) wrong(name string, write bool, n int) (written int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.in < 0 || f.healed || write == (f.kind == Unread) {
		return whole, nil
	}
	if !f.hit {
		if f.in--; f.in > 0 {
			return whole, nil
		}
		f.in = 0
		if n == 0 && (f.kind == Short || f.kind == Torn || f.kind == Flipped) { // wait for an operation that writes bytes
			return whole, nil
		}
		f.hit, f.name = true, name
	}
	switch f.kind {
	case Full:
		return 0, syscall.ENOSPC
	case Dead:
		return 0, syscall.EIO
	case ReadOnly:
		return 0, syscall.EROFS
	case OverQuota:
		return 0, syscall.EDQUOT
	}
	f.healed = true
	switch f.kind {
	case Short:
		return n / 2, nil
	case Torn:
		return n / 2, syscall.EIO
	case Flipped:
		return flip, nil
	case Stalled:
		close(f.waiting)
		f.mu.Unlock()
		<-f.stall
		f.mu.Lock()
		return whole, nil
	}
	return 0, syscall.EIO
}

// Unwrap returns the underlying file system.
func (f *Disk) Unwrap() vfs.FS { return f.FS }

// Create implements vfs.FS.
func (f *Disk) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return f.made(name, func() (vfs.File, error) { return f.FS.Create(name, c) })
}

// ReuseForWrite implements vfs.FS.
func (f *Disk) ReuseForWrite(old, name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return f.made(name, func() (vfs.File, error) { return f.FS.ReuseForWrite(old, name, c) })
}

func (f *Disk) made(name string, open func() (vfs.File, error)) (vfs.File, error) {
	if _, err := f.wrong(name, true, 0); err != nil {
		return nil, err
	}
	file, err := open()
	if err != nil {
		return nil, err
	}
	return &diskFile{file, f, name}, nil
}

// Open implements vfs.FS.
func (f *Disk) Open(name string, o ...vfs.OpenOption) (vfs.File, error) {
	file, err := f.FS.Open(name, o...)
	if err != nil {
		return nil, err
	}
	return &diskFile{file, f, name}, nil
}

// OpenDir implements vfs.FS.
func (f *Disk) OpenDir(name string) (vfs.File, error) {
	file, err := f.FS.OpenDir(name)
	if err != nil {
		return nil, err
	}
	return &diskFile{file, f, name}, nil
}

// Rename implements vfs.FS.
func (f *Disk) Rename(from, to string) error {
	if _, err := f.wrong(to, true, 0); err != nil {
		return err
	}
	return f.FS.Rename(from, to)
}

type diskFile struct {
	vfs.File
	fs   *Disk
	name string
}

func (f *diskFile) Write(p []byte) (int, error) {
	n, err := f.fs.wrong(f.name, true, len(p))
	switch n {
	case whole:
		return f.File.Write(p)
	case flip:
		p = bytes.Clone(p)
		p[len(p)/2] ^= 8
		return f.File.Write(p)
	}
	if n > 0 {
		if _, err := f.File.Write(p[:n]); err != nil {
			return 0, err
		}
	}
	return n, err
}

func (f *diskFile) sync(do func() error) error {
	if _, err := f.fs.wrong(f.name, true, 0); err != nil {
		return err
	}
	return do()
}

func (f *diskFile) Sync() error     { return f.sync(f.File.Sync) }
func (f *diskFile) SyncData() error { return f.sync(f.File.SyncData) }

func (f *diskFile) Read(p []byte) (int, error) {
	if _, err := f.fs.wrong(f.name, false, len(p)); err != nil {
		return 0, err
	}
	return f.File.Read(p)
}

func (f *diskFile) ReadAt(p []byte, at int64) (int, error) {
	if _, err := f.fs.wrong(f.name, false, len(p)); err != nil {
		return 0, err
	}
	return f.File.ReadAt(p, at)
}
