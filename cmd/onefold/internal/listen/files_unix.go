//go:build unix

package listen

import "syscall"

// fileLimit returns the maximum number of open files of this process. At startup, Go raises it to
// the hard limit.
func fileLimit() (limit uint64, known bool) {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return 0, false
	}
	return uint64(l.Cur), true
}
