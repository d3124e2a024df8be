package tail

import (
	"hash/fnv"
	"io"
	"os"
	"syscall"
)

// Position is a place between two lines of one file, to go on from. Its zero value is the beginning of whatever file is
// there. It belongs to the file, not to its name: a renamed file keeps it.
type Position struct {
	Device uint64 `json:"device"`
	Inode  uint64 `json:"inode"`
	Offset int64  `json:"offset"`         // in bytes
	Head   int64  `json:"headBytes"`      // how many of the first bytes are summed up
	Sum    uint64 `json:"headSum,string"` // FNV-1a of them: an inode is used again, and a file truncated and refilled
}

// headBytes is how much of the beginning of a file tells it from others.
const headBytes = 1024

// identify fills in which file it is.
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

// isOf reports whether the position is one of an open file: the same, not cut shorter, with the same beginning.
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

// sumHead sums up the first n bytes of a file, or fewer if there are no more.
func sumHead(f *os.File, n int64) (sum uint64, read int64, err error) {
	h := fnv.New64a()
	read, err = io.Copy(h, io.NewSectionReader(f, 0, min(n, headBytes)))
	return h.Sum64(), read, err
}
