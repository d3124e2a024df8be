package middleware

import (
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Metrics are one server's Prometheus metrics, in a registry of their own, to which products add
// theirs. No label contains values that clients choose.
type Metrics struct {
	*prometheus.Registry
	seconds  *prometheus.HistogramVec
	requests *prometheus.CounterVec
	panics   prometheus.Counter
	streams  *prometheus.GaugeVec
	most     *prometheus.GaugeVec
	rejected *prometheus.CounterVec
	clock    func() time.Time
}

// requestBuckets has few buckets, because every operation has each of them.
var requestBuckets = []float64{0.005, 0.025, 0.1, 0.5, 2.5, 10}

func newMetrics(clock func() time.Time) Metrics {
	m := Metrics{
		Registry: prometheus.NewRegistry(),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "onefold_http_request_seconds", Help: "Time to answer a request.", Buckets: requestBuckets,
		}, []string{"operation"}),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "onefold_http_requests_total", Help: "Requests answered, by the class of the status: 2xx, 3xx, 4xx, 5xx.",
		}, []string{"operation", "class"}),
		panics:   prometheus.NewCounter(prometheus.CounterOpts{Name: "onefold_http_panics_total", Help: "Panics of HTTP handlers. The connection of the request was closed; the log has the stack."}),
		streams:  prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "onefold_http_streams", Help: "Open live streams."}, []string{"stream"}),
		most:     prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "onefold_http_max_streams", Help: "Maximum number of live streams."}, []string{"stream"}),
		rejected: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "onefold_http_streams_refused_total", Help: "Live streams rejected because too many were open, in total or for one caller."}, []string{"stream"}),
		clock:    clock,
	}
	m.MustRegister(m.seconds, m.requests, m.panics, m.streams, m.most, m.rejected)
	return m
}

// Observe is middleware that measures every operation.
func (m *Metrics) Observe(ctx huma.Context, next func(huma.Context)) {
	start, one := m.clock(), &oneStatus{answer: ctx}
	next(one)
	m.Answered(ctx.Operation().OperationID, one.Status(), start)
}

// oneStatus sends at most one status per response. Huma sets a second one, 499, if the client
// disconnects during the response. It is counted but not sent, because net/http would log that.
type oneStatus struct {
	answer
	last int
}

type answer = huma.Context // an alias, because an embedded field named Context would hide the method Context

// Unwrap lets huma find the context that it created.
func (c *oneStatus) Unwrap() huma.Context { return c.answer }

// SetStatus implements huma.Context.
func (c *oneStatus) SetStatus(status int) {
	if c.last == 0 {
		c.answer.SetStatus(status)
	}
	c.last = status
}

// Status implements huma.Context.
func (c *oneStatus) Status() int {
	if c.last != 0 {
		return c.last
	}
	return c.answer.Status()
}

// Answered counts a request to an operation that began at start.
func (m *Metrics) Answered(operation string, status int, start time.Time) {
	m.seconds.WithLabelValues(operation).Observe(m.clock().Sub(start).Seconds())
	m.requests.WithLabelValues(operation, class(status)).Inc()
}

// class returns the class of a status, such as 2xx.
func class(status int) string {
	switch status / 100 {
	case 2:
		return "2xx"
	case 4:
		return "4xx"
	}
	return strconv.Itoa(status/100) + "xx"
}

// CountPanics counts the panics of a handler and passes them on to net/http, which logs them and
// closes the connection.
func (m *Metrics) CountPanics(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			if v := recover(); v != nil {
				if v != http.ErrAbortHandler { // not a failure: the standard way to close a connection
					m.panics.Inc()
				}
				panic(v)
			}
		}()
		next.ServeHTTP(w, r)
	})
}

// Handler serves /metrics.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.Registry, promhttp.HandlerOpts{Timeout: 5 * time.Second})
}
