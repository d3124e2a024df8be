//go:build unix

package listen

import "syscall"

// fileLimit is how many files this process may have open. Go has raised it as far as it may be when the process began.
func fileLimit() (limit uint64, known bool) {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return 0, false
	}
	return uint64(l.Cur), true
}
