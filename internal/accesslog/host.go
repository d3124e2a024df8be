package accesslog

import (
	"bytes"
	"net/netip"
)

// cutHost removes the virtual host from a line that starts with one: the first word, if it is not
// an address and the second word is. Without a host, the second word is the client's identity
// according to identd, which is "-" in practice.
func cutHost(line []byte) (host, rest []byte, ok bool) {
	host, rest, found := bytes.Cut(line, space)
	if !found || len(rest) == 0 || rest[0] == '-' || len(host) == 0 || len(host) > maxAddr+len(":65535") || host[len(host)-1] == ',' {
		return nil, nil, false
	}
	second, _, _ := bytes.Cut(rest, space)
	if !isAddress(second) || isAddress(host) {
		return nil, nil, false
	}
	return withoutPort(host), rest, true
}

func isAddress(word []byte) bool {
	if len(word) > len("ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255%interface-name-of-15") {
		return false
	}
	_, err := netip.ParseAddr(string(word))
	return err == nil
}

// withoutPort removes the port from host:port and [address]:port.
func withoutPort(host []byte) []byte {
	colon := bytes.LastIndexByte(host, ':')
	if colon < 0 || bytes.IndexByte(host[colon:], ']') >= 0 {
		return host
	}
	if bytes.IndexByte(host[:colon], ':') >= 0 && host[0] != '[' { // an IPv6 address without brackets
		return host
	}
	for _, c := range host[colon+1:] {
		if !isDigit(c) {
			return host
		}
	}
	return host[:colon]
}
