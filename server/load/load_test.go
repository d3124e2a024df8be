package load_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/onefold/onefold/server/load"
)

// used is the simulated memory in use, in percent.
type used struct{ atomic.Int64 }

func (u *used) part() float64 { return float64(u.Load()) / 100 }

func ask(t *testing.T, handler http.Handler, method, path string, bytes int, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	var body io.Reader
	if bytes > 0 {
		body = strings.NewReader(strings.Repeat("x", bytes))
	}
	r := httptest.NewRequestWithContext(t.Context(), method, path, body)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	if len(header) > 0 && header[0] == "Transfer-Encoding" {
		r.ContentLength = -1
	}
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, r)
	return answer
}

// TestRejectionNearMemoryLimit rejects bodies near the memory limit, except small ones of people, and accepts all
// again when there is room.
func TestRejectionNearMemoryLimit(t *testing.T) {
	var memory used
	g := load.New(load.Options{Bytes: 64 << 20, Used: memory.part, Wait: time.Nanosecond})
	handler := g.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }))
	for _, c := range []struct {
		percent      int64
		method, path string
		bytes        int
		want         int
	}{
		{0, "POST", "/api/events", 1 << 20, 200},
		{80, "POST", "/api/events", 1 << 20, 200},
		{90, "POST", "/api/events", 100, 503},
		{90, "POST", "/api/readings", 1 << 20, 503},
		{90, "GET", "/api/v1/sites/a/report", 0, 200},
		{90, "POST", "/api/v1/session", 200, 200},
		{90, "DELETE", "/api/v1/sites/a", 0, 200},
		{90, "POST", "/api/v1/sites/a/imports", 1 << 20, 503},
		{200, "POST", "/api/event", 1, 503},
		{10, "POST", "/api/event", 100, 200},
	} {
		memory.Store(c.percent)
		answer := ask(t, handler, c.method, c.path, c.bytes)
		if answer.Code != c.want {
			t.Errorf("%+v: %d", c, answer.Code)
		}
		if g.Overloaded() != (c.percent >= 85) {
			t.Errorf("%d %%: overloaded %t", c.percent, g.Overloaded())
		}
		var problem struct{ Type, Detail string }
		if c.want == 503 && (json.Unmarshal(answer.Body.Bytes(), &problem) != nil || problem.Type != "urn:onefold:error:overloaded" || problem.Detail == "" || answer.Header().Get("Retry-After") == "") {
			t.Errorf("%+v: %s %v", c, answer.Body, answer.Header())
		}
	}
}

// TestMemoryBudget admits only as many bodies as there is room for, whatever their headers claim, and frees
// all of it.
func TestMemoryBudget(t *testing.T) {
	for name, c := range map[string]struct {
		percent int64
		bytes   int
		header  []string
		want    int64 // concurrently, of 21 MB
	}{
		"of 200 KB":                {0, 200_000, nil, 22},
		"compressed":               {0, 20_000, []string{"Content-Encoding", "gzip"}, 22},
		"of unknown size":          {0, 100, []string{"Transfer-Encoding", "chunked"}, 4},
		"larger than all there is": {0, 6 << 20, nil, 1},
		"while memory is tight":    {75, 200_000, nil, 5},
		"small":                    {0, 10, nil, 50},
	} {
		t.Run(name, func(t *testing.T) {
			var memory used
			memory.Store(c.percent)
			g := load.New(load.Options{Bytes: 21 << 20, Used: memory.part, Wait: time.Nanosecond})
			var served atomic.Int64
			const all = 50
			enough, decided := make(chan struct{}), make(chan struct{}, all)
			handler := g.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
				decided <- struct{}{}
				<-enough
			}))
			var wg sync.WaitGroup
			for range all {
				wg.Go(func() {
					if ask(t, handler, "POST", "/api/events", c.bytes, c.header...).Code == 200 {
						served.Add(1)
					} else {
						decided <- struct{}{}
					}
				})
			}
			for range all {
				<-decided
			}
			close(enough)
			wg.Wait()
			if served.Load() != c.want {
				t.Errorf("%d at once, want %d", served.Load(), c.want)
			}
			if answer := ask(t, handler, "POST", "/api/events", 8<<20); answer.Code != 200 { // all the room there is
				t.Errorf("afterwards: %d", answer.Code)
			}
		})
	}
}
