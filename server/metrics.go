package server

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/server/internal/middleware"
)

// registerMetrics registers the metrics that belong to no product: those of the folds and of the
// process.
func registerMetrics(m *middleware.Metrics, w *fold.Worker, clock func() time.Time) {
	m.MustRegister(FoldCollector(w, clock), collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
}

// metrics serves Prometheus. If a token is set, requests must send it; otherwise they are
// rate-limited like anonymous requests.
func (s *Server) metrics() http.Handler {
	handler := s.mw.Metrics.Handler()
	if s.o.MetricsToken == "" {
		if s.o.MetricsApart { // everyone who can reach that address may read them
			return handler
		}
		return s.mw.LimitAnonymous(handler)
	}
	want := sha256.Sum256([]byte("Bearer " + s.o.MetricsToken)) // hashed, so that the comparison takes the same time for every input
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got := sha256.Sum256([]byte(r.Header.Get("Authorization")))
		if subtle.ConstantTimeCompare(got[:], want[:]) == 1 {
			handler.ServeHTTP(w, r)
			return
		}
		s.mw.LimitAnonymous(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("WWW-Authenticate", `Bearer realm="onefold metrics"`)
			middleware.WriteProblem(w, middleware.Problem(http.StatusUnauthorized, "unauthorized", "Send the token that was passed to onefold serve --metrics-token: Authorization: Bearer <token>."))
		})).ServeHTTP(w, r)
	})
}

// foldCollector reads the worker's own counters when it is scraped, so that nothing is counted
// twice.
type foldCollector struct {
	worker *fold.Worker
	since  time.Time
	clock  func() time.Time
	lag    *prometheus.Desc
	held   *prometheus.Desc
	counts *prometheus.Desc
}

// FoldCollector exports the metrics of a worker to Prometheus.
func FoldCollector(w *fold.Worker, clock func() time.Time) prometheus.Collector {
	return &foldCollector{
		worker: w, since: clock(), clock: clock,
		lag:    prometheus.NewDesc("onefold_fold_lag_seconds", "Upper bound of the age of the oldest change that this process has yet to fold; absent while it folds nothing.", nil, nil),
		held:   prometheus.NewDesc("onefold_fold_held_seconds", "Age of the oldest change that was read and is held back by serve --fold-delay.", nil, nil),
		counts: prometheus.NewDesc("onefold_fold_total", "Operations of the fold worker, by kind.", []string{"kind"}, nil),
	}
}

// Describe implements prometheus.Collector.
func (c *foldCollector) Describe(out chan<- *prometheus.Desc) {
	out <- c.lag
	out <- c.held
	out <- c.counts
}

// Collect implements prometheus.Collector.
func (c *foldCollector) Collect(out chan<- prometheus.Metric) {
	status := c.worker.Status()
	if lag := FoldsBehind(c.worker, c.since, c.clock()); lag.Unknown == "" {
		out <- prometheus.MustNewConstMetric(c.lag, prometheus.GaugeValue, lag.Behind.Seconds())
	}
	held := time.Duration(0)
	for _, sh := range status.Shards {
		held = max(held, sh.Held)
	}
	out <- prometheus.MustNewConstMetric(c.held, prometheus.GaugeValue, held.Seconds())
	for kind, n := range map[string]int64{
		"changes": status.Changes, "repeated": status.Repeated, "skipped": status.Skipped, "writes": status.Writes,
		"conflicts": status.Conflicts, "retries": status.Retries, "dead_letters": status.DeadLetters, "gaps": status.Gaps,
	} {
		out <- prometheus.MustNewConstMetric(c.counts, prometheus.CounterValue, float64(n), kind)
	}
}

// Lag is how far a worker is behind.
type Lag struct {
	Behind  time.Duration // upper bound of the age of the oldest change that the worker has yet to fold
	Unknown string        // why Behind is unknown; empty if it is known
	Late    bool          // Behind exceeds the worker's configured delays by more than StaleAfter
}

// Seconds returns Behind in seconds, or nil if it is unknown.
func (l Lag) Seconds() *float64 {
	if l.Unknown != "" {
		return nil
	}
	seconds := l.Behind.Seconds()
	return &seconds
}

// FoldsBehind returns how far a worker is behind. since is when the worker was created.
func FoldsBehind(w *fold.Worker, since, now time.Time) Lag {
	status := w.Status()
	switch owned := slices.ContainsFunc(status.Shards, func(s fold.ShardStatus) bool { return s.Owned }); {
	case status.LeaseFree:
		return Lag{Unknown: "no worker in this process"}
	case !owned && !status.At.IsZero():
		return Lag{Unknown: "the worker in this process reads no shards"}
	}
	behind := status.Lag(since, now)
	return Lag{Behind: behind, Late: behind > StaleAfter+w.Delay()}
}
