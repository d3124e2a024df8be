package tail

import (
	"hash/fnv"
	"io"
	"os"
	"syscall"
)

// Position is a position between two lines of a file, to continue from. The zero value is the
// beginning of the existing file. It belongs to the file, not to its name: it stays valid when the
// file is renamed.
type Position struct {
	Device uint64 `json:"device"`
	Inode  uint64 `json:"inode"`
	Offset int64  `json:"offset"`         // in bytes
	Head   int64  `json:"headBytes"`      // how many of the first bytes Sum covers
	Sum    uint64 `json:"headSum,string"` // FNV-1a of them, because inodes are reused, and files are truncated and refilled
}

// headBytes is how much of a file's beginning identifies it.
const headBytes = 1024

// identify fills in the identity of a file.
func (p *Position) identify(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	p.Device, p.Inode = identity(info)
	return nil
}

func identity(info os.FileInfo) (device, inode uint64) {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(s.Dev), s.Ino
	}
	return 0, 0
}

// isOf reports whether the position belongs to an open file: the same file, not shorter than the
// position, with the same beginning.
func (p *Position) isOf(f *os.File) (bool, error) {
	info, err := f.Stat()
	if err != nil {
		return false, err
	}
	device, inode := identity(info)
	if device != p.Device || inode != p.Inode || info.Size() < p.Offset {
		return false, nil
	}
	if p.Head == 0 {
		return true, nil
	}
	sum, n, err := sumHead(f, p.Head)
	return n == p.Head && sum == p.Sum, err
}

// sumHead returns the checksum of the first n bytes of a file, or of all if there are fewer.
func sumHead(f *os.File, n int64) (sum uint64, read int64, err error) {
	h := fnv.New64a()
	read, err = io.Copy(h, io.NewSectionReader(f, 0, min(n, headBytes)))
	return h.Sum64(), read, err
}
