// Package load keeps the memory that requests take within a budget. Bodies that there is no room for wait a moment, and are
// then refused with 503 and Retry-After; near the end of the process's memory all but small ones of people are.
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

// Options say how much there is.
type Options struct {
	Bytes int64          // that bodies under way and what is made of them may take
	Used  func() float64 // which part of the process's memory is in use, from 0 to 1; nil: it has no limit
	Wait  time.Duration  // how long a request waits for room; default 2 s
}

// From which part of the memory in use on a body counts four times, so that fewer are under way, and from which it is refused.
const (
	tightFrom  = 0.70
	refuseFrom = 0.85
	tightTimes = 4
)

// What a body is taken to need.
const (
	decoded     = 5        // times its bytes: JSON, what is read of it, and what is written
	compressed  = 10       // times its bytes, when it is compressed
	largest     = 8 << 20  // bytes of any body that is taken whole
	least       = 4 << 10  // bytes of a request with a body
	unknown     = 1 << 20  // bytes of one that does not say
	smallOfUser = 16 << 10 // bytes of what people do on pages, which goes on until the end
)

// retryAfter is when a refused request may be sent again.
const retryAfter = "2"

// Gate admits requests.
type Gate struct {
	o       Options
	room    *semaphore.Weighted
	refused prometheus.Counter
	taken   prometheus.Gauge
}

// New makes a gate.
func New(o Options) *Gate {
	if o.Used == nil {
		o.Used = func() float64 { return 0 }
	}
	if o.Wait <= 0 {
		o.Wait = 2 * time.Second
	}
	return &Gate{o: o, room: semaphore.NewWeighted(o.Bytes),
		refused: prometheus.NewCounter(prometheus.CounterOpts{Name: "onefold_requests_shed_total", Help: "Requests with bodies that were refused because there was no memory for them."}),
		taken:   prometheus.NewGauge(prometheus.GaugeOpts{Name: "onefold_memory_requests_bytes", Help: "Memory that is set aside for requests with bodies that are under way."}),
	}
}

// Collectors tell what was admitted.
func (g *Gate) Collectors() []prometheus.Collector { return []prometheus.Collector{g.refused, g.taken} }

// Overloaded reports whether there is no memory for more to come in, over whatever protocol.
func (g *Gate) Overloaded() bool { return g.o.Used() >= refuseFrom }

// Handler admits the requests of another handler.
func (g *Gate) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength == 0 {
			next.ServeHTTP(w, r)
			return
		}
		weight, ok := g.admit(r)
		if !ok {
			g.refused.Inc()
			w.Header().Set("Retry-After", retryAfter)
			w.Header().Set("Connection", "close") // or the body that nobody reads is read to its end
			middleware.WriteProblem(w, middleware.Problem(http.StatusServiceUnavailable, "overloaded",
				"The server has no memory left for this request. Send it again later, in smaller batches if it is a batch; what is stored counts once."))
			return
		}
		g.taken.Add(float64(weight))
		defer func() {
			g.room.Release(weight)
			g.taken.Sub(float64(weight))
		}()
		next.ServeHTTP(w, r)
	})
}

// admit waits until there is room for a request.
func (g *Gate) admit(r *http.Request) (weight int64, ok bool) {
	weight = needs(r)
	switch used := g.o.Used(); {
	case used >= refuseFrom && !ofUser(r):
		return 0, false
	case used >= tightFrom:
		weight *= tightTimes
	}
	weight = min(weight, g.o.Bytes)
	if g.room.TryAcquire(weight) {
		return weight, true
	}
	ctx, cancel := context.WithTimeout(r.Context(), g.o.Wait)
	defer cancel()
	return weight, g.room.Acquire(ctx, weight) == nil
}

// needs is how many bytes a request is taken to need.
func needs(r *http.Request) int64 {
	n := r.ContentLength
	if n < 0 || n > largest { // what is larger goes to a disk as it comes, or is refused
		n = unknown
	}
	if r.Header.Get("Content-Encoding") != "" {
		n *= compressed
	}
	return decoded * max(min(n, largest), least)
}

// ofUser reports whether a request is something small that somebody does on a page, such as logging in or freeing room.
func ofUser(r *http.Request) bool {
	return strings.HasPrefix(r.URL.Path, "/api/v1/") && r.ContentLength >= 0 && r.ContentLength <= smallOfUser
}
