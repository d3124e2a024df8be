package warehousecli

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/onefold/onefold/warehouse/export"
)

// lag exports the progress of this process's exporter, if this process is the one that exports.
type lag struct {
	now          func() time.Time
	of           atomic.Pointer[export.Exporter]
	behind, rows *prometheus.Desc
}

func newLag(now func() time.Time) *lag {
	return &lag{
		now:    now,
		behind: prometheus.NewDesc("onefold_warehouse_lag_seconds", "Seconds since the time up to which all changes are in the warehouse, reported by the exporting process.", nil, nil),
		rows:   prometheus.NewDesc("onefold_warehouse_rows_total", "Rows that this process has written to the warehouse since its export started.", nil, nil),
	}
}

// Describe implements prometheus.Collector.
func (l *lag) Describe(out chan<- *prometheus.Desc) {
	out <- l.behind
	out <- l.rows
}

// Collect implements prometheus.Collector. There is no lag before the first complete export.
func (l *lag) Collect(out chan<- prometheus.Metric) {
	x := l.of.Load()
	if x == nil {
		return
	}
	before, rows := x.CaughtUp()
	if !before.IsZero() {
		out <- prometheus.MustNewConstMetric(l.behind, prometheus.GaugeValue, l.now().Sub(before).Seconds())
	}
	out <- prometheus.MustNewConstMetric(l.rows, prometheus.CounterValue, float64(rows))
}
