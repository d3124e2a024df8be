package gauges

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/onefold/onefold/engine"
)

// diskCollector exports the free space of an embedded table's disk.
type diskCollector struct{ db *engine.DB }

var (
	diskFree    = prometheus.NewDesc("onefold_disk_free_bytes", "Free bytes on the disk of the table.", nil, nil)
	diskReserve = prometheus.NewDesc("onefold_disk_reserve_bytes", "Free bytes below which writes that add data are rejected.", nil, nil)
	diskTotal   = prometheus.NewDesc("onefold_disk_total_bytes", "Size of the table's file system.", nil, nil)
	diskFull    = prometheus.NewDesc("onefold_disk_full", "1 while writes that add data are rejected, 0 otherwise.", nil, nil)
)

// Describe implements prometheus.Collector.
func (c diskCollector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{diskFree, diskReserve, diskTotal, diskFull} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (c diskCollector) Collect(out chan<- prometheus.Metric) {
	s, full := c.db.DiskSpace(), 0.0
	if s.Full {
		full = 1
	}
	out <- prometheus.MustNewConstMetric(diskFull, prometheus.GaugeValue, full)
	if !s.Known {
		return
	}
	for d, n := range map[*prometheus.Desc]int64{diskFree: s.Free, diskReserve: s.Reserve, diskTotal: s.Total} {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(n))
	}
}
