package enginetest

import (
	"bytes"
	"sync"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// DiskFault is what goes wrong with a Disk.
type DiskFault int

// What may go wrong.
const (
	Full       DiskFault = iota // ENOSPC until it heals
	Broken                      // EIO, once
	Dead                        // EIO from then on
	ReadOnly                    // EROFS from then on
	OverQuota                   // EDQUOT from then on
	Short                       // half of a write is written, and no error told, once
	Torn                        // half of a write is written, then EIO, once
	Stalled                     // one write does not return until Release
	Unread                      // a read fails with EIO, once
	Flipped                     // one bit of a write is another, once
	DiskFaults                  // how many there are
)

// String names the fault.
func (f DiskFault) String() string {
	return [...]string{"full", "broken", "dead", "read-only", "over quota", "short", "torn", "stalled", "unread", "flipped"}[f]
}

// Disk is a file system of which one write, or read, goes wrong. Removing and linking goes well.
type Disk struct {
	vfs.FS
	mu     sync.Mutex
	kind   DiskFault
	in     int // operations until it goes wrong; negative: it does not
	hit    bool
	healed bool
	name   string // of the file that it hit

	stall   chan struct{} // closed to let the stalled write go
	waiting chan struct{} // closed when a write is stalled
}

// NewDisk returns a Disk over a file system. It works until Break.
func NewDisk(fs vfs.FS) *Disk {
	return &Disk{FS: fs, in: -1, stall: make(chan struct{}), waiting: make(chan struct{})}
}

// Break lets the n-th operation from now go wrong.
func (f *Disk) Break(kind DiskFault, n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.kind, f.in = kind, n
}

// Heal ends the fault, also when it has not come yet.
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

// Hit reports whether it has, and the file; "" before.
func (f *Disk) Hit() (bool, string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.hit, f.name
}

// Waiting is closed when a write is stalled.
func (f *Disk) Waiting() <-chan struct{} { return f.waiting }

// Release lets the stalled write go. It may be called once.
func (f *Disk) Release() { close(f.stall) }

// How much an operation writes, if it is no number of bytes.
const (
	whole = -1 // all
	flip  = -2 // all, but for a bit
)

// wrong says what an operation fails with, and how many of its n bytes it writes before.
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
		if n == 0 && (f.kind == Short || f.kind == Torn || f.kind == Flipped) { // the next that writes bytes
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

// Unwrap returns the file system below.
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
