package door

import (
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Metrics are one server's Prometheus metrics, on a registry of its own, where products register theirs. No label holds
// what a client chose.
type Metrics struct {
	*prometheus.Registry
	requests *prometheus.HistogramVec
	clock    func() time.Time
}

func newMetrics(clock func() time.Time) Metrics {
	m := Metrics{
		Registry: prometheus.NewRegistry(),
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "onefold_http_request_seconds", Help: "Time to answer a request.", Buckets: prometheus.ExponentialBuckets(0.0005, 2, 14),
		}, []string{"operation", "status"}),
		clock: clock,
	}
	m.MustRegister(m.requests)
	return m
}

// Observe times every operation.
func (m *Metrics) Observe(ctx huma.Context, next func(huma.Context)) {
	start := m.clock()
	next(ctx)
	m.Answered(ctx.Operation().OperationID, ctx.Status(), start)
}

// Answered counts a request to an operation that began at start.
func (m *Metrics) Answered(operation string, status int, start time.Time) {
	m.requests.WithLabelValues(operation, strconv.Itoa(status)).Observe(m.clock().Sub(start).Seconds())
}

// Handler answers /metrics.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.Registry, promhttp.HandlerOpts{Timeout: 5 * time.Second})
}
