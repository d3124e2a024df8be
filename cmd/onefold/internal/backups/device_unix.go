//go:build unix

package backups

import (
	"os"
	"syscall"
)

// device returns the ID of the file system that holds path, which must exist.
func device(path string) (uint64, bool) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, false
	}
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return uint64(s.Dev), true
}
