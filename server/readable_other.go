//go:build !unix

package server

import "net"

// readable reports false: on this system, unread data cannot be detected without reading it.
func readable(net.Conn) bool { return false }
