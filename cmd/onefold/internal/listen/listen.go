// Package listen opens the addresses of servers, and explains errors of addresses that cannot be
// opened.
package listen

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"
)

// On listens on an address given by a flag. The listener survives errors of Accept: it fails only
// after it is closed. Errors begin with address_in_use, no_access, too_many_files or bad_address.
func On(flag, addr string) (net.Listener, error) {
	l, err := net.Listen("tcp", addr)
	switch {
	case err == nil:
		return newRetryingListener(l), nil
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("address_in_use: another process listens on %s: stop it, or choose another address with %s (%w)", addr, flag, err)
	case errors.Is(err, syscall.EACCES), errors.Is(err, syscall.EPERM):
		return nil, fmt.Errorf("no_access: this user may not listen on %s; ports below 1024 often need privileges: choose a higher port with %s (%w)", addr, flag, err)
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return nil, fmt.Errorf("too_many_files: cannot listen on %s because too many files are open: raise the limit, see ulimit -n (%w)", addr, err)
	}
	return nil, fmt.Errorf("bad_address: %q is not an address of this machine: give %s HOST:PORT, such as 127.0.0.1:8090, or :8090 for all addresses (%w)", addr, flag, err)
}

// near is the number of ports that Near tries.
const near = 20

// Near listens on the first free port at or above addr's port. Errors: those of On.
func Near(flag, addr string) (net.Listener, error) {
	l, first := On(flag, addr)
	host, port, err := net.SplitHostPort(addr)
	n, nerr := strconv.Atoi(port)
	if err != nil || nerr != nil {
		return l, first
	}
	for i := 1; i < near && errors.Is(first, syscall.EADDRINUSE) && l == nil; i++ {
		if other, err := On(flag, net.JoinHostPort(host, strconv.Itoa(n+i))); err == nil {
			return other, nil
		}
	}
	return l, first
}
