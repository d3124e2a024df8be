//go:build unix

package server

import (
	"net"
	"syscall"
)

// readable reports whether data has arrived on a connection that has not been read yet.
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
	// Control does not wait for a concurrent Read, as Read would.
	err = raw.Control(func(fd uintptr) {
		n, _, _ = syscall.Recvfrom(int(fd), first[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT) // an error counts as no data
	})
	return err == nil && n > 0
}
