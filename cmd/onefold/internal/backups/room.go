package backups

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/onefold/onefold/engine"
)

// ErrFull is returned if a backup or a restore would use the space kept in reserve.
var ErrFull = errors.New("disk_full")

// Room keeps the disk reserve of a table free of backups. The zero value checks nothing.
type Room struct {
	Space  func() engine.DiskSpace // of the table's disk; nil: unchecked
	Shared bool                    // backups go to the table's disk
}

// lookEvery is the number of bytes written between two checks of the disk.
const lookEvery = 4 << 20

// For returns ErrFull if there is no space for so many bytes. It does so even for a backup to
// another disk while the table's disk is full, because a running backup keeps files alive:
// deletions from the table free no space before it ends.
func (r Room) For(bytes int64) error {
	if r.Space == nil {
		return nil
	}
	s := r.Space()
	left := s.Free
	if r.Shared {
		left -= bytes
	}
	if !s.Full && (!s.Known || s.Reserve < 0 || left >= s.Reserve) {
		return nil
	}
	needs := ""
	if mb := bytes >> 20; r.Shared && mb > 0 {
		needs = fmt.Sprintf(", and %d MB more are needed", mb)
	}
	return fmt.Errorf("%w: the disk has %d MB free and keeps %d MB in reserve%s: free space, or use another disk", ErrFull, s.Free>>20, s.Reserve>>20, needs)
}

// SameDisk reports whether place is a directory on the table's file system. It returns true if it
// cannot tell.
func SameDisk(data, place string) bool {
	if IsBucket(place) {
		return false
	}
	ours, known := device(data)
	theirs, ok := device(place)
	if !ok { // does not exist yet: it will be created in its parent
		theirs, ok = device(filepath.Dir(filepath.Clean(place)))
	}
	return !known || !ok || ours == theirs
}

// inspection counts the bytes written, and checks the disk at intervals.
type inspection struct {
	w     io.Writer
	room  Room
	bytes int64
	next  int64
}

func (l *inspection) Write(b []byte) (int, error) {
	if l.bytes+int64(len(b)) > l.next {
		if err := l.room.For(int64(len(b))); err != nil {
			return 0, err
		}
		l.next = l.bytes + lookEvery
	}
	n, err := l.w.Write(b)
	l.bytes += int64(n)
	return n, err
}
