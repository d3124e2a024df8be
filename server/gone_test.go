package server_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/onefold/onefold/server/servertest"
)

// gone is a browser that leaves the page at the beginning of a response.
type gone struct {
	header   http.Header
	leave    context.CancelFunc
	statuses []int
}

func (g *gone) Header() http.Header { return g.header }

func (g *gone) WriteHeader(status int) {
	g.statuses = append(g.statuses, status)
	g.leave()
}

func (g *gone) Write([]byte) (int, error) { return 0, context.Canceled }

// A response has one status, even if the client disconnects: net/http would log a second one.
func TestDisconnectedClientGetsOneStatus(t *testing.T) {
	h := servertest.New(t, nil)
	for _, path := range []string{"/healthz", "/api/v1/sites/blog", "/api/v1/sites/blog/report", "/api/v1/sites/none"} {
		ctx, leave := context.WithCancel(t.Context())
		g := &gone{header: http.Header{}, leave: leave}
		r := httptest.NewRequestWithContext(ctx, http.MethodGet, path, nil)
		r.Header.Set("Authorization", "Bearer "+servertest.Token)
		h.Server.Handler().ServeHTTP(g, r)
		if len(g.statuses) != 1 {
			t.Errorf("%s: %v", path, g.statuses)
		}
	}
}
