package protocol

import (
	"crypto/subtle"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"
	goprocess "github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/onefold/onefold/engine"
)

const metricsTimeout = 5 * time.Second

// Metrics returns the handler of Prometheus metrics. With access keys it requires one of them by
// HTTP basic authentication, because Prometheus cannot sign requests. The secret is then sent over
// the connection, so use TLS or this machine only. Without keys, and unless toAll is set, it
// responds only to host names that nobody can own. Otherwise a web page whose host name resolves to
// this machine could read the metrics, because browsers do not send an Origin with a GET.
func Metrics(registry *prometheus.Registry, keys map[string]string, toAll bool) http.Handler {
	metrics := promhttp.HandlerFor(registry, promhttp.HandlerOpts{Timeout: metricsTimeout})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(keys) > 0 && !holdsKey(r, keys) {
			w.Header().Set("WWW-Authenticate", `Basic realm="access key"`)
			http.Error(w, "send an access key by HTTP basic authentication", http.StatusUnauthorized)
			return
		}
		if len(keys) == 0 && !toAll && !ownerless(r.Host) {
			http.Error(w, "ask for http://127.0.0.1 or http://localhost, or configure access keys", http.StatusForbidden)
			return
		}
		metrics.ServeHTTP(w, r)
	})
}

// ownerless reports whether the host of a request is an IP address or a name that public DNS does
// not resolve: one without a dot, or in a domain reserved for private use (RFC 6761, RFC 6762, and
// ICANN for "internal").
func ownerless(hostPort string) bool {
	u := url.URL{Host: hostPort}
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	if net.ParseIP(host) != nil {
		return true
	}
	domain := host[strings.LastIndexByte(host, '.')+1:]
	return domain == host || slices.Contains([]string{"localhost", "local", "internal", "test"}, domain)
}

// holdsKey reports whether a request has the ID and secret of an access key.
func holdsKey(r *http.Request, keys map[string]string) bool {
	id, secret, ok := r.BasicAuth()
	want, known := keys[id]
	return subtle.ConstantTimeCompare([]byte(secret), []byte(want)) == 1 && ok && known
}

// processCollectors returns the metrics of the process.
func processCollectors() []prometheus.Collector {
	return []prometheus.Collector{
		goprocess.NewGoCollector(), goprocess.NewProcessCollector(goprocess.ProcessCollectorOpts{}),
	}
}

// capacityCollector reads the engine's meters at each scrape, so that nothing is counted twice.
type capacityCollector struct {
	db       *engine.DB
	units    *prometheus.Desc
	prefixes *prometheus.Desc
	hottest  *prometheus.Desc
}

func newCapacityCollector(db *engine.DB) *capacityCollector {
	return &capacityCollector{
		db: db,
		units: prometheus.NewDesc("onefold_dynamodb_consumed_capacity_units_total",
			"Capacity units used, as DynamoDB bills them, by table, index (empty for the table itself) and direction.", []string{"table", "index", "direction"}, nil),
		prefixes: prometheus.NewDesc("onefold_dynamodb_prefix_capacity_units_total",
			"Capacity units used, by table, prefix of the partition key (up to the first #) and direction; writes include their indexes.", []string{"table", "prefix", "direction"}, nil),
		hottest: prometheus.NewDesc("onefold_dynamodb_hottest_key_units",
			"Capacity units of a table's hottest partition key in its busiest second of the last two minutes.", []string{"table", "direction"}, nil),
	}
}

// Describe implements prometheus.Collector.
func (c *capacityCollector) Describe(out chan<- *prometheus.Desc) {
	out <- c.units
	out <- c.prefixes
	out <- c.hottest
}

// Collect implements prometheus.Collector.
func (c *capacityCollector) Collect(out chan<- prometheus.Metric) {
	for table, use := range c.db.Metered().Tables {
		collectUse(out, c.units, table, "", use.Use)
		for index, use := range use.Indexes {
			collectUse(out, c.units, table, index, use)
		}
		for prefix, use := range use.Prefixes {
			if !utf8.ValidString(prefix) { // labels must be valid UTF-8
				prefix = strconv.Quote(prefix)
			}
			collectUse(out, c.prefixes, table, prefix, use)
		}
		reads, writes := 0.0, 0.0
		for _, key := range use.Hottest {
			reads, writes = max(reads, key.PeakReads), max(writes, key.PeakWrites)
		}
		out <- prometheus.MustNewConstMetric(c.hottest, prometheus.GaugeValue, reads, table, "read")
		out <- prometheus.MustNewConstMetric(c.hottest, prometheus.GaugeValue, writes, table, "write")
	}
}

// collectUse exports the units of one part of a table.
func collectUse(out chan<- prometheus.Metric, units *prometheus.Desc, table, part string, use engine.Use) {
	out <- prometheus.MustNewConstMetric(units, prometheus.CounterValue, use.ReadUnits, table, part, "read")
	out <- prometheus.MustNewConstMetric(units, prometheus.CounterValue, use.WriteUnits, table, part, "write")
}
