package server

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// withClientAddress makes RemoteAddr the bare address of whoever sent the request, so that no handler has to know
// whether a proxy stands in front.
func withClientAddress(trustProxy bool, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.RemoteAddr = clientAddress(r, trustProxy)
		next.ServeHTTP(w, r)
	})
}

// clientAddress believes only the last entry of X-Forwarded-For, the one that our own proxy added; those before it are
// the client's to invent.
func clientAddress(r *http.Request, trustProxy bool) string {
	if trustProxy {
		forwarded := r.Header.Values("X-Forwarded-For")
		if len(forwarded) > 0 {
			hops := strings.Split(forwarded[len(forwarded)-1], ",")
			hop := strings.TrimSpace(hops[len(hops)-1])
			if with, err := netip.ParseAddrPort(hop); err == nil {
				return with.Addr().Unmap().String()
			}
			if ip, err := netip.ParseAddr(strings.Trim(hop, "[]")); err == nil {
				return ip.Unmap().String()
			}
		}
	}
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// network is what rate limits are kept for: an IPv4 address, or the /64 that one IPv6 customer has.
func network(address string) string {
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
