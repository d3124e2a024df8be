//go:build unix

package server

import (
	"net"
	"syscall"
)

// readable reports whether something has come over a connection that nobody has read yet.
func readable(conn net.Conn) bool {
	sys, ok := conn.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := sys.SyscallConn()
	if err != nil {
		return false
	}
	var n int
	var first [1]byte
	// Control, and not Read, which would wait for whoever reads.
	err = raw.Control(func(fd uintptr) {
		n, _, _ = syscall.Recvfrom(int(fd), first[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT) // an error: nothing
	})
	return err == nil && n > 0
}
