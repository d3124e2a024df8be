package server

import (
	"context"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// serverCollector reports the state of a server when it is scraped.
type serverCollector struct{ s *Server }

var (
	serverReady    = prometheus.NewDesc("onefold_ready", "1 while GET /readyz answers 200, otherwise 0.", nil, nil)
	connectionsNow = prometheus.NewDesc("onefold_http_connections", "Open connections of the web listener.", nil, nil)
	connectionsMax = prometheus.NewDesc("onefold_http_max_connections", "Maximum number of connections of the web listener.", nil, nil)
	ingestWaiting  = prometheus.NewDesc("onefold_ingest_waiting", "Requests with a single event or reading that wait to be stored in a batch.", []string{"kind"}, nil)
)

// BuildInfo reports the version of the program.
func BuildInfo(version string) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "onefold_build_info", Help: "Always 1, labelled with the version of the program.", ConstLabels: prometheus.Labels{"version": version},
	}, func() float64 { return 1 })
}

// readyWithin limits the readiness check, so that an unreachable table does not fail the whole
// scrape.
const readyWithin = 3 * time.Second

// Describe implements prometheus.Collector.
func (c *serverCollector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{serverReady, connectionsNow, connectionsMax, ingestWaiting} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (c *serverCollector) Collect(out chan<- prometheus.Metric) {
	tell := func(d *prometheus.Desc, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	ctx, cancel := context.WithTimeout(context.Background(), readyWithin)
	defer cancel()
	ready := 0.0
	if answer, err := c.s.ready(ctx, nil); err == nil && answer.Status == http.StatusOK {
		ready = 1
	}
	tell(serverReady, ready)
	if l := c.s.listener.Load(); l != nil {
		tell(connectionsNow, float64(l.count()))
		tell(connectionsMax, float64(l.most))
	}
	tell(ingestWaiting, float64(c.s.o.Analytics.Collector.Waiting()), "event")
	tell(ingestWaiting, float64(c.s.devices.Waiting()), "reading")
}
