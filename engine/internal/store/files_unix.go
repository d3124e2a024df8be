//go:build unix

package store

import "syscall"

// mostFiles is how many table files Pebble keeps open when it may.
const mostFiles = 1000

// openFiles is how many table files Pebble keeps open: a quarter of what the process may have, at most mostFiles.
func openFiles() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return mostFiles
	}
	return int(min(uint64(limit.Cur)/4, mostFiles))
}
