// Package load keeps the memory that requests take within a budget. A request without room for its
// body waits briefly and is then rejected with 503 and Retry-After. Near the memory limit of the
// process, all requests are rejected except small ones of people.
package load

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/semaphore"

	"github.com/onefold/onefold/server/internal/middleware"
)

// Options configure the budget.
type Options struct {
	Bytes int64          // budget for bodies in progress and the values decoded from them
	Used  func() float64 // the share of the process's memory in use, from 0 to 1; nil: no limit
	Wait  time.Duration  // how long a request waits for room; default 2 s
}

// The shares of memory in use from which bodies count four times, so that fewer are processed at a
// time, and from which they are rejected.
const (
	tightFrom  = 0.70
	rejectFrom = 0.85
	tightTimes = 4
)

// Estimates of the memory that a body needs.
const (
	decoded     = 5        // multiple of its size: JSON, the decoded values, and the items to write
	compressed  = 10       // times its size, if it is compressed
	largest     = 8 << 20  // maximum size in bytes of bodies that are read into memory
	least       = 4 << 10  // bytes of any request with a body
	unknown     = 1 << 20  // bytes of a body without a known length
	smallOfUser = 16 << 10 // bytes of the small requests of people, which are accepted until the end
)

// retryAfter is the Retry-After of a rejected request, in seconds.
const retryAfter = "2"

// Gate admits requests within the budget.
type Gate struct {
	o        Options
	memory   *semaphore.Weighted
	rejected prometheus.Counter
	taken    prometheus.Gauge
}

// New creates a gate.
func New(o Options) *Gate {
	if o.Used == nil {
		o.Used = func() float64 { return 0 }
	}
	if o.Wait <= 0 {
		o.Wait = 2 * time.Second
	}
	return &Gate{o: o, memory: semaphore.NewWeighted(o.Bytes),
		rejected: prometheus.NewCounter(prometheus.CounterOpts{Name: "onefold_requests_shed_total", Help: "Requests with bodies that were rejected because there was no memory for them."}),
		taken:    prometheus.NewGauge(prometheus.GaugeOpts{Name: "onefold_memory_requests_bytes", Help: "Memory reserved for requests with bodies that are being processed."}),
	}
}

// Collectors returns the gate's metrics.
func (g *Gate) Collectors() []prometheus.Collector {
	return []prometheus.Collector{g.rejected, g.taken}
}

// Overloaded reports whether there is no memory for more input, over any protocol.
func (g *Gate) Overloaded() bool { return g.o.Used() >= rejectFrom }

// Handler returns middleware that admits requests to next.
func (g *Gate) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength == 0 {
			next.ServeHTTP(w, r)
			return
		}
		weight, ok := g.acquire(r)
		if !ok {
			g.rejected.Inc()
			w.Header().Set("Retry-After", retryAfter)
			w.Header().Set("Connection", "close") // otherwise net/http would read the rest of the unread body
			middleware.WriteProblem(w, middleware.Problem(http.StatusServiceUnavailable, "overloaded",
				"The server has no memory left for this request. Send it again later, as smaller batches if it is a batch. Stored data counts once."))
			return
		}
		g.taken.Add(float64(weight))
		defer func() {
			g.memory.Release(weight)
			g.taken.Sub(float64(weight))
		}()
		next.ServeHTTP(w, r)
	})
}

// acquire waits until there is room for a request.
func (g *Gate) acquire(r *http.Request) (weight int64, ok bool) {
	weight = needs(r)
	switch used := g.o.Used(); {
	case used >= rejectFrom && !ofUser(r):
		return 0, false
	case used >= tightFrom:
		weight *= tightTimes
	}
	weight = min(weight, g.o.Bytes)
	if g.memory.TryAcquire(weight) {
		return weight, true
	}
	ctx, cancel := context.WithTimeout(r.Context(), g.o.Wait)
	defer cancel()
	return weight, g.memory.Acquire(ctx, weight) == nil
}

// needs estimates the memory in bytes that a request needs.
func needs(r *http.Request) int64 {
	n := r.ContentLength
	if n < 0 || n > largest { // larger bodies are streamed to disk, or rejected
		n = unknown
	}
	if r.Header.Get("Content-Encoding") != "" {
		n *= compressed
	}
	return decoded * max(min(n, largest), least)
}

// ofUser reports whether a request is a small one from a person using the dashboard, such as
// logging in or freeing space.
func ofUser(r *http.Request) bool {
	return strings.HasPrefix(r.URL.Path, "/api/v1/") && r.ContentLength >= 0 && r.ContentLength <= smallOfUser
}
