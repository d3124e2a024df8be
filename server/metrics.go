package server

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/server/internal/door"
)

// registerMetrics registers what is of no product: the folds, and the process.
func registerMetrics(m *door.Metrics, w *fold.Worker, clock func() time.Time) {
	m.MustRegister(FoldCollector(w, clock), collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
}

// foldCollector reads the worker's own counters when it is asked, so that nothing is counted twice.
type foldCollector struct {
	worker *fold.Worker
	since  time.Time
	clock  func() time.Time
	lag    *prometheus.Desc
	held   *prometheus.Desc
	counts *prometheus.Desc
}

// FoldCollector tells Prometheus what a worker does.
func FoldCollector(w *fold.Worker, clock func() time.Time) prometheus.Collector {
	return &foldCollector{
		worker: w, since: clock(), clock: clock,
		lag:    prometheus.NewDesc("onefold_fold_lag_seconds", "Age of the oldest change that this process has to fold and has not folded, at most.", nil, nil),
		held:   prometheus.NewDesc("onefold_fold_held_seconds", "Age of the oldest change that is read and waits, as serve --fold-delay lets it.", nil, nil),
		counts: prometheus.NewDesc("onefold_fold_total", "What the fold worker did, by kind.", []string{"kind"}, nil),
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
	lag, _ := FoldsBehind(c.worker, c.since, c.clock())
	out <- prometheus.MustNewConstMetric(c.lag, prometheus.GaugeValue, lag.Seconds())
	held := time.Duration(0)
	for _, sh := range status.Shards {
		held = max(held, sh.Held)
	}
	out <- prometheus.MustNewConstMetric(c.held, prometheus.GaugeValue, held.Seconds())
	for kind, n := range map[string]int64{
		"changes": status.Changes, "skipped": status.Skipped, "writes": status.Writes,
		"conflicts": status.Conflicts, "retries": status.Retries, "dead_letters": status.DeadLetters, "missed": status.Missed,
	} {
		out <- prometheus.MustNewConstMetric(c.counts, prometheus.CounterValue, float64(n), kind)
	}
}

// FoldsBehind returns how old the oldest change is, at most, that a worker has to fold and has not folded. since is when the worker
// was made. late says that this is more than the delays that it was given and StaleAfter.
func FoldsBehind(w *fold.Worker, since, now time.Time) (lag time.Duration, late bool) {
	status := w.Status()
	if status.Aside {
		return 0, false // others fold, and tell
	}
	lag = status.Lag(since, now)
	return lag, lag > StaleAfter+w.Delay()
}
