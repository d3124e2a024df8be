package backups

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/onefold/onefold/engine"
)

// ErrFull is returned when a backup, or a restore, would take the room that is kept in reserve.
var ErrFull = errors.New("disk_full")

// Room keeps a table's reserve free of backups. The zero value looks at nothing.
type Room struct {
	Space  func() engine.DiskSpace // of the table's disk; nil: not looked at
	Shared bool                    // backups are written to that disk
}

// lookEvery is how many bytes are written between two looks at the disk.
const lookEvery = 4 << 20

// For reports as an error when there is no room for so many bytes. Also a backup that goes elsewhere is refused when the table's disk is
// full: what is deleted from the table while it runs frees no room before its end.
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

// SameDisk reports whether a place is a directory on the file system of a table's, or cannot be told from one.
func SameDisk(data, place string) bool {
	if IsBucket(place) {
		return false
	}
	ours, known := device(data)
	theirs, ok := device(place)
	if !ok { // it is made there
		theirs, ok = device(filepath.Dir(filepath.Clean(place)))
	}
	return !known || !ok || ours == theirs
}

// looking counts what is written and looks at the disk now and then.
type looking struct {
	w     io.Writer
	room  Room
	bytes int64
	next  int64
}

func (l *looking) Write(b []byte) (int, error) {
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
