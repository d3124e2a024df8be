package server_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/server"
	"github.com/onefold/onefold/server/servertest"
)

// The API documents are built once: a client who has one gets 304, and networks are rate-limited.
func TestDocumentsAreKeptAndLimited(t *testing.T) {
	for _, path := range []string{"/openapi.json", "/docs"} {
		h := servertest.New(t, nil)
		first := answer(t, h, path)
		tag := first.Header.Get("ETag")
		if first.StatusCode != http.StatusOK || tag == "" || !strings.Contains(first.Header.Get("Cache-Control"), "max-age=") {
			t.Errorf("%s: %d, ETag %q, Cache-Control %q", path, first.StatusCode, tag, first.Header.Get("Cache-Control"))
		}
		if again := answer(t, h, path, "If-None-Match", tag); again.StatusCode != http.StatusNotModified {
			t.Errorf("%s was sent again to one who has it: %d", path, again.StatusCode)
		}
		if zipped := answer(t, h, path, "Accept-Encoding", "gzip"); zipped.Header.Get("Content-Encoding") != "gzip" {
			t.Errorf("%s is not compressed", path)
		}
		refusedAfter(t, h, path, 1000)
	}
}

// answer requests a path and drops the body.
func answer(t *testing.T, h *servertest.Server, path string, headers ...string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, h.URL+path, nil)
	servertest.Must(t, err)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	a, err := http.DefaultTransport.RoundTrip(r)
	servertest.Must(t, err)
	servertest.Must(t, a.Body.Close())
	return a
}

// refusedAfter expects that a network is rate-limited after so many requests without a break.
func refusedAfter(t *testing.T, h *servertest.Server, path string, most int) {
	t.Helper()
	for range most {
		if a := answer(t, h, path, "If-None-Match", "*"); a.StatusCode == http.StatusTooManyRequests {
			if a.Header.Get("Retry-After") == "" {
				t.Errorf("%s: a refusal does not say when to come again", path)
			}
			return
		}
	}
	t.Errorf("%s was answered %d times to one network at once", path, most)
}

// Every operation, called in every way, adds a bounded number of lines to the metrics.
func TestMetricsAreBounded(t *testing.T) {
	h := servertest.New(t, func(o *server.Options) { o.MetricsToken = metricsToken })
	before := lines(h)
	all := operations(h)
	for _, op := range all {
		for _, header := range []string{"", "Bearer " + servertest.Token} {
			for _, path := range []string{op.path, op.path + "?unheard=of"} {
				r, err := http.NewRequestWithContext(t.Context(), op.method, h.URL+path, strings.NewReader(`{`))
				servertest.Must(t, err)
				r.Header.Set("Authorization", header)
				a, err := http.DefaultTransport.RoundTrip(r)
				servertest.Must(t, err)
				servertest.Must(t, a.Body.Close())
			}
		}
	}
	// Seven buckets, a sum and a count for each operation, and four status classes.
	const most = 13
	added := lines(h) - before
	t.Logf("%d operations add %d lines", len(all), added)
	if added < 3*len(all) || added > most*len(all) {
		t.Errorf("%d operations add %d lines to the metrics, more than %d each", len(all), added, most)
	}
}

// metricsToken is the token that some of these servers require.
const metricsToken = "a token for Prometheus"

func lines(h *servertest.Server) int {
	h.Helper()
	status, body := h.Get("/metrics", "Authorization", "Bearer "+metricsToken)
	if status != http.StatusOK {
		h.Fatalf("metrics: %d %s", status, body)
	}
	return strings.Count(body, "\n")
}

func TestMetricsToken(t *testing.T) {
	const token = metricsToken
	h := servertest.New(t, func(o *server.Options) { o.MetricsToken = token })
	for header, want := range map[string]int{"": 401, "Bearer " + servertest.Token: 401, token: 401, "Bearer": 401, "Bearer " + token: 200} {
		status, body := h.Get("/metrics", "Authorization", header)
		if status != want || strings.Contains(body, "onefold_fold_total") != (want == 200) {
			t.Errorf("with %q: %d, want %d: %.80s", header, status, want, body)
		}
	}
	if _, err := server.New(server.Options{Table: h.Table, Worker: h.Worker, MetricsToken: "short"}); err == nil {
		t.Error("a server with a short token of its metrics was made")
	}
	refusedAfter(t, servertest.New(t, nil), "/metrics", 1000)
}

// Metrics with an address of their own are served nowhere else.
func TestMetricsOnOwnAddress(t *testing.T) {
	h := servertest.New(t, func(o *server.Options) { o.MetricsApart = true })
	if status, body := h.Get("/metrics"); status != http.StatusNotFound || !strings.Contains(body, "urn:onefold:error:not_found") {
		t.Errorf("%d %.80s", status, body)
	}
}

// Programs that request well-known paths do not get the dashboard's page.
func TestWellKnownPaths(t *testing.T) {
	now := time.Date(2026, 11, 23, 5, 0, 0, 0, time.UTC)
	told := servertest.New(t, func(o *server.Options) {
		o.SecurityContact, o.Clock = "mailto:security@example.com", func() time.Time { return now }
	})
	status, text := told.Get("/.well-known/security.txt")
	if want := "Contact: mailto:security@example.com\nExpires: 2027-05-22T00:00:00Z\n"; status != http.StatusOK || text != want {
		t.Errorf("%d %q, want %q", status, text, want)
	}
	silent := servertest.New(t, nil)
	for _, path := range []string{"/.well-known/security.txt", "/.well-known/", "/.well-known/change-password", "/.well-known/a/b"} {
		if status, body := silent.Get(path); status != http.StatusNotFound || strings.Contains(body, "<html") {
			t.Errorf("%s: %d %.60s", path, status, body)
		}
	}
	for _, contact := range []string{"security@example.com", "http://example.com", "https://", "mailto:", "mailto:a@b\nContact: mailto:c@d", "javascript:alert(1)", " "} {
		if _, err := server.New(server.Options{Table: silent.Table, Worker: silent.Worker, SecurityContact: contact}); err == nil || !strings.HasPrefix(err.Error(), "bad_security_contact") {
			t.Errorf("contact %q: %v", contact, err)
		}
	}
}
