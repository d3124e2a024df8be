package server_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/onefold/onefold/server/servertest"
)

// Programs probe for APIs by their status. They must not take the dashboard's page for one.
func TestUnknownPathsAreProblems(t *testing.T) {
	h := servertest.New(t, nil)
	const browser = "text/html,application/xhtml+xml,*/*;q=0.8"
	for _, c := range []struct {
		method, path, accept string
		status               int
	}{
		{"GET", "/query", "", 404}, {"GET", "/query?q=SHOW+DATABASES", "application/json", 404}, {"GET", "/query", browser, 404},
		{"GET", "/v1/metrics", "", 404}, {"POST", "/v1/metrics", "", 404}, {"POST", "/v1/traces", "*/*", 404}, {"GET", "/v1/metrics", browser, 404},
		{"GET", "/api", browser, 404}, {"GET", "/api/", "", 404}, {"GET", "/api/v2/query", browser, 404}, {"POST", "/api/v1/query_range", "", 404}, {"PATCH", "/api/nope", "", 404},
		{"GET", "/write", "", 404}, {"GET", "/metrics/job/x", "", 404}, {"GET", "/robots.txt", "", 404}, {"POST", "/anything", "", 404}, {"GET", "/%2e%2e/api", "", 404},
		{"DELETE", "/query", "", 405}, {"POST", "/sites/blog", "", 405}, {"DELETE", "/api/v1/me", "", 405},
	} {
		r, err := http.NewRequestWithContext(h.Context(), c.method, h.URL+c.path, nil)
		servertest.Must(t, err)
		r.Header.Set("Accept", c.accept)
		answer, err := http.DefaultTransport.RoundTrip(r)
		servertest.Must(t, err)
		servertest.Must(t, answer.Body.Close())
		if kind := answer.Header.Get("Content-Type"); answer.StatusCode != c.status || !strings.HasPrefix(kind, "application/problem+json") {
			t.Errorf("%s %s for %q: %d %s, want a problem %d", c.method, c.path, c.accept, answer.StatusCode, kind, c.status)
		}
		if allow := answer.Header.Get("Allow"); (allow != "") != (c.status == 405) {
			t.Errorf("%s %s: Allow: %q", c.method, c.path, allow)
		}
	}
	for path, accept := range map[string]string{"/": "", "/sites/blog/goals": "", "/fleets/x": "application/json", "/no-such-page": browser} {
		r, err := http.NewRequestWithContext(h.Context(), http.MethodGet, h.URL+path, nil)
		servertest.Must(t, err)
		r.Header.Set("Accept", accept)
		answer, err := http.DefaultTransport.RoundTrip(r)
		servertest.Must(t, err)
		servertest.Must(t, answer.Body.Close())
		if kind := answer.Header.Get("Content-Type"); !strings.HasPrefix(kind, "text/") {
			t.Errorf("%s for %q: %d %s, want the page", path, accept, answer.StatusCode, kind)
		}
	}
}
