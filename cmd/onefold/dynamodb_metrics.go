package main

import (
	"crypto/subtle"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	goprocess "github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/onefold/onefold/engine"
)

const metricsTimeout = 5 * time.Second

// dynamodbMetrics answers Prometheus. With access keys it asks for one of them by HTTP basic authentication.
func dynamodbMetrics(registry *prometheus.Registry, keys map[string]string) http.Handler {
	metrics := promhttp.HandlerFor(registry, promhttp.HandlerOpts{Timeout: metricsTimeout})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(keys) > 0 && !holdsKey(r, keys) {
			w.Header().Set("WWW-Authenticate", `Basic realm="access key"`)
			http.Error(w, "send an access key by HTTP basic authentication", http.StatusUnauthorized)
			return
		}
		metrics.ServeHTTP(w, r)
	})
}

// holdsKey says whether a request brings an access key's id and secret.
func holdsKey(r *http.Request, keys map[string]string) bool {
	id, secret, ok := r.BasicAuth()
	want, known := keys[id]
	return subtle.ConstantTimeCompare([]byte(secret), []byte(want)) == 1 && ok && known
}

func processCollectors() []prometheus.Collector {
	return []prometheus.Collector{
		goprocess.NewGoCollector(), goprocess.NewProcessCollector(goprocess.ProcessCollectorOpts{}),
	}
}

// capacityCollector reads the engine's own meters when it is asked, so that nothing is counted twice.
type capacityCollector struct {
	db    *engine.DB
	units *prometheus.Desc
}

func newCapacityCollector(db *engine.DB) *capacityCollector {
	return &capacityCollector{db: db, units: prometheus.NewDesc("onefold_dynamodb_consumed_capacity_units_total",
		"Capacity used as DynamoDB bills it, by table, index (none: the table itself) and direction.", []string{"table", "index", "direction"}, nil)}
}

// Describe implements prometheus.Collector.
func (c *capacityCollector) Describe(out chan<- *prometheus.Desc) { out <- c.units }

// Collect implements prometheus.Collector.
func (c *capacityCollector) Collect(out chan<- prometheus.Metric) {
	for table, use := range c.db.Metered().Tables {
		c.collect(out, table, "", use.Use)
		for index, use := range use.Indexes {
			c.collect(out, table, index, use)
		}
	}
}

func (c *capacityCollector) collect(out chan<- prometheus.Metric, table, index string, use engine.Use) {
	out <- prometheus.MustNewConstMetric(c.units, prometheus.CounterValue, use.ReadUnits, table, index, "read")
	out <- prometheus.MustNewConstMetric(c.units, prometheus.CounterValue, use.WriteUnits, table, index, "write")
}
