package damage

import (
	"github.com/cockroachdb/pebble/v2/vfs"
	"golang.org/x/sys/unix"
)

// forget asks the operating system to give up what it has of a file in memory. It is advice: that it is not taken is no error.
func forget(fd uintptr) {
	if fd != vfs.InvalidFd {
		_ = unix.Fadvise(int(fd), 0, 0, unix.FADV_DONTNEED)
	}
}
