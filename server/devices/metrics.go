package devices

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/onefold/onefold/server/internal/middleware"
	"github.com/onefold/onefold/telemetry"
)

// metrics counts readings.
type metrics struct {
	readings *prometheus.CounterVec
	rejected *prometheus.CounterVec
	omitted  *prometheus.CounterVec
}

func newMetrics(of *middleware.Metrics) *metrics {
	m := &metrics{
		readings: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "onefold_readings_total", Help: "Readings by outcome."}, []string{"outcome"}),
		rejected: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "onefold_readings_rejected_total", Help: "Rejected readings by reason."}, []string{"reason"}),
		omitted: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "onefold_readings_omitted_values_total", Help: "Values omitted from readings whose other values were stored, by reason.",
		}, []string{"reason"}),
	}
	for _, status := range []telemetry.OutcomeStatus{telemetry.Stored, telemetry.Duplicate, telemetry.StoredLate, telemetry.Rejected, telemetry.Queued} {
		m.readings.WithLabelValues(string(status)) // so that a rate is known from the first reading on
	}
	of.MustRegister(m.readings, m.rejected, m.omitted)
	return m
}

func (m *metrics) count(outcomes []telemetry.Outcome) {
	by := map[telemetry.OutcomeStatus]int{}
	for i := range outcomes {
		o := &outcomes[i]
		for j := range o.Omitted {
			m.omitted.WithLabelValues(string(o.Omitted[j].Reason)).Inc()
		}
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

// Waiting returns the number of single readings that wait to be stored in a batch.
func (s *Service) Waiting() int { return s.o.Collector.Waiting() }
