package dynamohttp

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// shareWithPages sets the CORS headers that allow web pages to read responses.
func (h *Handler) shareWithPages(w http.ResponseWriter, r *http.Request) {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return
	}
	header := w.Header()
	header.Add("Vary", "Origin")
	if !h.allowsOrigin(origin) {
		return
	}
	header.Set("Access-Control-Allow-Origin", origin)
	header.Set("Access-Control-Expose-Headers", "x-amzn-RequestId,x-amzn-ErrorType,x-amz-crc32,Date")
}

// allowsOrigin reports whether pages of an origin may make requests: all of them if requests must be
// signed with one of our keys, otherwise only pages served on this machine and those of
// Options.Origins. This protects data on a developer's machine from arbitrary pages, even with DNS
// rebinding.
func (h *Handler) allowsOrigin(origin string) bool {
	return origin == "" || len(h.o.Keys) > 0 || slices.Contains(h.o.Origins, origin) || isLocal(origin)
}

// CheckOrigin rejects values that browsers never send as an origin: wildcards, paths, addresses
// without a scheme.
func CheckOrigin(origin string) error {
	u, err := url.Parse(origin)
	if err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && origin == u.Scheme+"://"+u.Host && !strings.Contains(origin, "*") {
		return nil
	}
	return fmt.Errorf("bad_origin: %q is not a web origin: give scheme, host and port only, such as https://app.example.com or http://box.lan:5173; "+
		"there are no wildcards, so give each origin by itself, or use access keys, with which pages of every origin may call", origin)
}

// isLocal reports whether an origin is on this machine.
func isLocal(origin string) bool {
	u, err := url.Parse(origin)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

// preflightSeconds is how long a browser may cache the response, as in DynamoDB.
const preflightSeconds = "172800"

// answerPreflight allows the requested headers if the origin may make requests.
func answerPreflight(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	if header.Get("Access-Control-Allow-Origin") != "" {
		if asked := r.Header.Get("Access-Control-Request-Headers"); asked != "" {
			header.Set("Access-Control-Allow-Headers", asked)
		}
		if asked := r.Header.Get("Access-Control-Request-Method"); asked != "" {
			header.Set("Access-Control-Allow-Methods", asked)
		}
		header.Set("Access-Control-Max-Age", preflightSeconds)
	}
	header.Set("Content-Length", "0")
	w.WriteHeader(http.StatusOK)
}
