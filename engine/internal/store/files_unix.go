//go:build unix

package store

import "syscall"

// mostFiles is the maximum number of row files that Pebble keeps open.
const mostFiles = 1000

// openFiles returns how many row files Pebble keeps open: a quarter of the process's limit, at most
// mostFiles.
func openFiles() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return mostFiles
	}
	return int(min(uint64(limit.Cur)/4, mostFiles))
}
