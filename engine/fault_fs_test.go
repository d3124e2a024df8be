package engine_test

import (
	"math/rand/v2"
	"sync"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// fault is what goes wrong with a disk.
type fault int

const (
	full      fault = iota // ENOSPC until it heals
	broken                 // EIO, once
	dead                   // EIO from then on
	readOnly               // EROFS from then on
	overQuota              // EDQUOT from then on
	short                  // half of a write is written, and no error told, once
	torn                   // half of a write is written, then EIO, once
	stalled                // one write does not return until it is let go
	unread                 // a read fails with EIO, once
	faults
)

func (f fault) String() string {
	return [...]string{"full", "broken", "dead", "read-only", "over quota", "short", "torn", "stalled", "unread"}[f]
}

// faultFS is a file system of which the n-th write, or read, goes wrong. Removing and linking goes well.
type faultFS struct {
	vfs.FS
	mu     sync.Mutex
	kind   fault
	in     int // operations until it goes wrong; negative: it does not
	hit    bool
	healed bool
	name   string // of the file that it hit

	stall   chan struct{} // closed to let the stalled write go
	waiting chan struct{} // closed when a write is stalled
}

func newFaultFS(fs vfs.FS) *faultFS {
	return &faultFS{FS: fs, in: -1, stall: make(chan struct{}), waiting: make(chan struct{})}
}

// arm lets the n-th operation from now go wrong.
func (f *faultFS) arm(kind fault, n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.kind, f.in = kind, n
}

// heal ends a fault.
func (f *faultFS) heal() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.healed = true
}

// wrong says what an operation fails with, and how many of its n bytes it writes before; whole: all of them.
const whole = -1

func (f *faultFS) wrong(name string, write bool, n int) (written int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.in < 0 || f.healed || write == (f.kind == unread) {
		return whole, nil
	}
	if !f.hit {
		if f.in--; f.in > 0 {
			return whole, nil
		}
		f.in = 0
		if n == 0 && (f.kind == short || f.kind == torn) { // the next that writes bytes
			return whole, nil
		}
		f.hit, f.name = true, name
	}
	switch f.kind {
	case full:
		return 0, syscall.ENOSPC
	case dead:
		return 0, syscall.EIO
	case readOnly:
		return 0, syscall.EROFS
	case overQuota:
		return 0, syscall.EDQUOT
	}
	f.healed = true
	switch f.kind {
	case short:
		return n / 2, nil
	case torn:
		return n / 2, syscall.EIO
	case stalled:
		close(f.waiting)
		f.mu.Unlock()
		<-f.stall
		f.mu.Lock()
		return whole, nil
	}
	return 0, syscall.EIO
}

func (f *faultFS) Unwrap() vfs.FS { return f.FS }

func (f *faultFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return f.made(name, func() (vfs.File, error) { return f.FS.Create(name, c) })
}

func (f *faultFS) ReuseForWrite(old, name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return f.made(name, func() (vfs.File, error) { return f.FS.ReuseForWrite(old, name, c) })
}

func (f *faultFS) made(name string, open func() (vfs.File, error)) (vfs.File, error) {
	if _, err := f.wrong(name, true, 0); err != nil {
		return nil, err
	}
	file, err := open()
	if err != nil {
		return nil, err
	}
	return &faultFile{file, f, name}, nil
}

func (f *faultFS) Open(name string, o ...vfs.OpenOption) (vfs.File, error) {
	file, err := f.FS.Open(name, o...)
	if err != nil {
		return nil, err
	}
	return &faultFile{file, f, name}, nil
}

func (f *faultFS) OpenDir(name string) (vfs.File, error) {
	file, err := f.FS.OpenDir(name)
	if err != nil {
		return nil, err
	}
	return &faultFile{file, f, name}, nil
}

func (f *faultFS) Rename(from, to string) error {
	if _, err := f.wrong(to, true, 0); err != nil {
		return err
	}
	return f.FS.Rename(from, to)
}

type faultFile struct {
	vfs.File
	fs   *faultFS
	name string
}

func (f *faultFile) Write(p []byte) (int, error) {
	n, err := f.fs.wrong(f.name, true, len(p))
	if n == whole {
		return f.File.Write(p)
	}
	if n > 0 {
		if _, err := f.File.Write(p[:n]); err != nil {
			return 0, err
		}
	}
	return n, err
}

func (f *faultFile) sync(do func() error) error {
	if _, err := f.fs.wrong(f.name, true, 0); err != nil {
		return err
	}
	return do()
}

func (f *faultFile) Sync() error     { return f.sync(f.File.Sync) }
func (f *faultFile) SyncData() error { return f.sync(f.File.SyncData) }

func (f *faultFile) Read(p []byte) (int, error) {
	if _, err := f.fs.wrong(f.name, false, len(p)); err != nil {
		return 0, err
	}
	return f.File.Read(p)
}

func (f *faultFile) ReadAt(p []byte, at int64) (int, error) {
	if _, err := f.fs.wrong(f.name, false, len(p)); err != nil {
		return 0, err
	}
	return f.File.ReadAt(p, at)
}

// someFault chooses one.
func someFault(rng *rand.Rand) fault { return fault(rng.IntN(int(faults))) }
