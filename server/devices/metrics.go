package devices

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/onefold/onefold/server/internal/door"
	"github.com/onefold/onefold/telemetry"
)

// metrics count readings.
type metrics struct {
	readings *prometheus.CounterVec
	rejected *prometheus.CounterVec
}

func newMetrics(of *door.Metrics) *metrics {
	m := &metrics{
		readings: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "onefold_readings_total", Help: "Readings by outcome."}, []string{"outcome"}),
		rejected: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "onefold_readings_rejected_total", Help: "Rejected readings by reason."}, []string{"reason"}),
	}
	of.MustRegister(m.readings, m.rejected)
	return m
}

func (m *metrics) count(outcomes []telemetry.Outcome) {
	by := map[telemetry.OutcomeStatus]int{}
	for i := range outcomes {
		o := &outcomes[i]
		if by[o.Status]++; o.Status == telemetry.Rejected {
			m.rejected.WithLabelValues(string(o.Reason)).Inc()
		}
	}
	for status, n := range by {
		if status != "" {
			m.readings.WithLabelValues(string(status)).Add(float64(n))
		}
	}
}
