package server

import (
	"net"
	"net/http"
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
			if ip := net.ParseIP(strings.TrimSpace(hops[len(hops)-1])); ip != nil {
				return ip.String()
			}
		}
	}
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}
