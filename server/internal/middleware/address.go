package middleware

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// WithClientAddress sets RemoteAddr to the client's bare address, so that no handler needs to know
// about proxies.
func (s *Stack) WithClientAddress(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.RemoteAddr = s.clientAddress(r)
		next.ServeHTTP(w, r)
	})
}

// clientAddress trusts the last entry of X-Forwarded-For, which the proxy in front added, or while
// that is one of the operator's own proxies, the entry before it. Clients can forge all earlier
// entries.
func (o *Options) clientAddress(r *http.Request) string {
	client, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		client = r.RemoteAddr
	}
	if !o.TrustProxy {
		return client
	}
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(hops) - 1; i >= 0; i-- {
		hop, ok := parseHop(strings.TrimSpace(hops[i]))
		if !ok {
			break // an entry that no own proxy wrote cannot be trusted
		}
		client = hop.String()
		if !slices.ContainsFunc(o.Proxies, func(p netip.Prefix) bool { return p.Contains(hop) }) {
			break
		}
	}
	return client
}

// parseHop parses an address as proxies write it: with or without port, and for IPv6 with or
// without brackets.
func parseHop(hop string) (netip.Addr, bool) {
	if with, err := netip.ParseAddrPort(hop); err == nil {
		return with.Addr().Unmap(), true
	}
	ip, err := netip.ParseAddr(strings.Trim(hop, "[]"))
	return ip.Unmap(), err == nil
}

// Network returns the unit of rate limiting for an address: an IPv4 address, or the /64 network
// that one IPv6 customer has.
func Network(address string) string {
	ip, err := netip.ParseAddr(address)
	if err != nil || !ip.Is6() || ip.Is4In6() {
		return address
	}
	prefix, err := ip.WithZone("").Prefix(64)
	if err != nil {
		return address
	}
	return prefix.String()
}
