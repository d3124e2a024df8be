package damage

import (
	"github.com/cockroachdb/pebble/v2/vfs"
	"golang.org/x/sys/unix"
)

// forget advises the operating system to drop a file from its cache. It ignores errors, because
// this is only advice.
func forget(fd uintptr) {
	if fd != vfs.InvalidFd {
		_ = unix.Fadvise(int(fd), 0, 0, unix.FADV_DONTNEED)
	}
}
