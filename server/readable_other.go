//go:build !unix

package server

import "net"

// readable reports false: what has come is not known before it is read.
func readable(net.Conn) bool { return false }
