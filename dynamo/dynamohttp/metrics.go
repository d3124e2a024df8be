package dynamohttp

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics are the metrics of a handler. Labels never contain text chosen by clients: operations and
// codes are fixed sets.
type metrics struct {
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	inFlight prometheus.Gauge
	bytesIn  prometheus.Counter
	bytesOut prometheus.Counter
	panics   prometheus.Counter
}

func newMetrics() *metrics {
	return &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "onefold_dynamodb_requests_total", Help: "Requests by operation and by the code of their answer.",
		}, []string{"operation", "code"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "onefold_dynamodb_request_seconds", Help: "Time to answer a request.", Buckets: prometheus.ExponentialBuckets(0.0001, 2, 16),
		}, []string{"operation"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{Name: "onefold_dynamodb_requests_in_flight", Help: "Requests under way."}),
		bytesIn:  prometheus.NewCounter(prometheus.CounterOpts{Name: "onefold_dynamodb_request_bytes_total", Help: "Bytes of request bodies."}),
		bytesOut: prometheus.NewCounter(prometheus.CounterOpts{Name: "onefold_dynamodb_response_bytes_total", Help: "Bytes of response bodies."}),
		panics:   prometheus.NewCounter(prometheus.CounterOpts{Name: "onefold_dynamodb_panics_total", Help: "Panics of operations. The request was answered with an internal error; the log has the stack."}),
	}
}

func (m *metrics) register(r prometheus.Registerer) error {
	for _, c := range []prometheus.Collector{m.requests, m.seconds, m.inFlight, m.bytesIn, m.bytesOut, m.panics} {
		if err := r.Register(c); err != nil {
			return err
		}
	}
	return nil
}

// begin counts the start of a request. The returned function counts its end.
func (m *metrics) begin(operation string, clock func() time.Time) func(code string, in, out int) {
	if operation == "" {
		operation = "unknown"
	}
	m.inFlight.Inc()
	start := clock()
	return func(code string, in, out int) {
		m.inFlight.Dec()
		m.seconds.WithLabelValues(operation).Observe(clock().Sub(start).Seconds())
		m.requests.WithLabelValues(operation, code).Inc()
		m.bytesIn.Add(float64(in))
		m.bytesOut.Add(float64(out))
	}
}
