package server

import (
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/fold"
)

// metrics are one server's Prometheus metrics, on a registry of its own. No label holds what a client chose.
type metrics struct {
	registry *prometheus.Registry
	events   *prometheus.CounterVec
	refused  *prometheus.CounterVec
	requests *prometheus.HistogramVec
	clock    func() time.Time
}

func newMetrics(w *fold.Worker, clock func() time.Time) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		events:   prometheus.NewCounterVec(prometheus.CounterOpts{Name: "onefold_events_total", Help: "Events by outcome."}, []string{"outcome"}),
		refused:  prometheus.NewCounterVec(prometheus.CounterOpts{Name: "onefold_events_refused_total", Help: "Events of requests that were refused whole, by reason."}, []string{"reason"}),
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "onefold_http_request_seconds", Help: "Time to answer a request.", Buckets: prometheus.ExponentialBuckets(0.0005, 2, 14),
		}, []string{"operation", "status"}),
		clock: clock,
	}
	m.registry.MustRegister(m.events, m.refused, m.requests, newFoldCollector(w, clock),
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

func (m *metrics) count(outcomes []analytics.Outcome) {
	for i := range outcomes {
		m.events.WithLabelValues(string(outcomes[i].Status)).Inc()
	}
}

// observe times every operation.
func (m *metrics) observe(ctx huma.Context, next func(huma.Context)) {
	start := m.clock()
	next(ctx)
	m.requests.WithLabelValues(ctx.Operation().OperationID, strconv.Itoa(ctx.Status())).Observe(m.clock().Sub(start).Seconds())
}

// foldCollector reads the worker's own counters when it is asked, so that nothing is counted twice.
type foldCollector struct {
	worker *fold.Worker
	since  time.Time
	clock  func() time.Time
	lag    *prometheus.Desc
	counts *prometheus.Desc
}

func newFoldCollector(w *fold.Worker, clock func() time.Time) *foldCollector {
	return &foldCollector{
		worker: w, since: clock(), clock: clock,
		lag:    prometheus.NewDesc("onefold_fold_lag_seconds", "Age of the oldest change that is not folded yet.", nil, nil),
		counts: prometheus.NewDesc("onefold_fold_total", "What the fold worker did, by kind.", []string{"kind"}, nil),
	}
}

// Describe implements prometheus.Collector.
func (c *foldCollector) Describe(out chan<- *prometheus.Desc) { out <- c.lag; out <- c.counts }

// Collect implements prometheus.Collector.
func (c *foldCollector) Collect(out chan<- prometheus.Metric) {
	status := c.worker.Status()
	out <- prometheus.MustNewConstMetric(c.lag, prometheus.GaugeValue, behind(&status, c.since, c.clock()).Seconds())
	for kind, n := range map[string]int64{
		"changes": status.Changes, "skipped": status.Skipped, "writes": status.Writes,
		"conflicts": status.Conflicts, "retries": status.Retries, "dead_letters": status.DeadLetters, "missed": status.Missed,
	} {
		out <- prometheus.MustNewConstMetric(c.counts, prometheus.CounterValue, float64(n), kind)
	}
}

// behind is how far the folds are behind: the greatest lag of a shard, or the time since the worker last looked at it.
// Looking is due many times a second, so a second without it is no delay. since is when the server was made: a worker
// that has not looked at all since then is behind by that.
func behind(s *fold.Status, since, now time.Time) time.Duration {
	if s.At.After(since) {
		since = s.At
	}
	most := now.Sub(since)
	if most < time.Second {
		most = 0
	}
	for i := range s.Shards {
		if !s.Shards[i].Owned {
			continue
		}
		most = max(most, s.Shards[i].Lag)
		if s.Shards[i].Age > time.Second {
			most = max(most, s.Shards[i].Age)
		}
	}
	return most
}
