package workcli

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/onefold/onefold/fold"
)

// LateAfter is the lag from which folds need attention. DynamoDB keeps changes for 24 hours;
// changes not folded by then are lost.
const LateAfter = 12 * time.Hour

// watchEvery is the interval at which a process checks the whole group, which reads a few items.
const watchEvery = time.Minute

// Watch checks all shards, whichever process reads them, and reports problems in logs and metrics.
// It is a prometheus.Collector.
type Watch struct {
	process *Process
	last    atomic.Pointer[fold.Overview]

	lag, age, shards, owners, gaps *prometheus.Desc
}

// NewWatch returns a Watch.
func NewWatch(process *Process) *Watch {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("onefold_fold_stream_"+name, help, labels, nil)
	}
	return &Watch{
		process: process,
		lag:     desc("lag_seconds", "Upper bound of the age of the oldest unfolded change, as reported by workers; absent while unknown for any shard. Investigate above 43200: at 86400 changes are lost."),
		age:     desc("silence_seconds", "Longest time since the last news of any shard of the stream."),
		shards:  desc("shards", "Unfinished shards of the stream, by whether a worker reads them.", "read"),
		owners:  desc("workers", "Workers that share the stream."),
		gaps:    desc("gaps", "Number of gaps, where changes expired before they were folded, by whether they were repaired.", "repaired"),
	}
}

// Run checks at intervals until ctx ends.
func (w *Watch) Run(ctx context.Context) error {
	ticker := time.NewTicker(watchEvery)
	defer ticker.Stop()
	for {
		o, err := fold.Read(ctx, w.process.Table, w.process.Group)
		switch {
		case err == nil:
			w.last.Store(&o)
			logOverview(w.process.Logger, &o)
		case ctx.Err() == nil:
			w.process.Logger.Warn("cannot determine the lag of the folds", "error", err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
}

func logOverview(logger *slog.Logger, o *fold.Overview) {
	for _, line := range alarms(o) {
		logger.Error("folds: " + line)
	}
}

// Describe implements prometheus.Collector.
func (w *Watch) Describe(out chan<- *prometheus.Desc) { prometheus.DescribeByCollect(w, out) }

// Collect implements prometheus.Collector. It exports nothing before the first check.
func (w *Watch) Collect(out chan<- prometheus.Metric) {
	o := w.last.Load()
	if o == nil {
		o = &fold.Overview{}
	}
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	read, age := 0, time.Duration(0)
	for i := range o.Shards {
		if s := &o.Shards[i]; s.Owner != "" && !s.Silent {
			read++
		}
		if o.Shards[i].Shared {
			age = max(age, o.Shards[i].Age)
		}
	}
	open := o.OpenGaps()
	if now := w.process.Table.Now(); o.Known { // the last check may have been a while ago
		gauge(w.lag, (o.Lag() + max(now.Sub(o.At), 0)).Seconds())
	}
	gauge(w.age, age.Seconds())
	gauge(w.shards, float64(read), "yes")
	gauge(w.shards, float64(len(o.Shards)-read), "no")
	gauge(w.owners, float64(len(o.Owners)))
	gauge(w.gaps, float64(open), "no")
	gauge(w.gaps, float64(len(o.Gaps)-open), "yes")
}
