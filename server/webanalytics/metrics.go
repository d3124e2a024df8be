package webanalytics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/server/internal/middleware"
)

// metrics counts events.
type metrics struct {
	events  map[analytics.Status]prometheus.Counter
	refused *prometheus.CounterVec
	unknown prometheus.Counter
	warned  *prometheus.CounterVec
}

func newMetrics(of *middleware.Metrics) *metrics {
	events := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "onefold_events_total", Help: "Events by outcome."}, []string{"outcome"})
	m := &metrics{
		events:  make(map[analytics.Status]prometheus.Counter),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "onefold_events_refused_total", Help: "Events of requests that were rejected as a whole, by reason."}, []string{"reason"}),
		unknown: prometheus.NewCounter(prometheus.CounterOpts{Name: "onefold_events_unknown_fields_total", Help: "Requests whose events had fields that the server does not know and ignored."}),
	}
	m.warned = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "onefold_events_warned_total", Help: "Accepted events that are incomplete, by warning."}, []string{"warning"})
	m.warned.WithLabelValues(string(analytics.NoExchangeRate))
	for _, status := range []analytics.Status{analytics.Stored, analytics.Duplicate, analytics.Rejected, analytics.Queued} {
		m.events[status] = events.WithLabelValues(string(status)) // so that a rate is known from the first event on
	}
	of.MustRegister(events, m.refused, m.unknown, m.warned)
	return m
}

func (m *metrics) count(outcomes []analytics.Outcome) {
	for i := range outcomes {
		if c := m.events[outcomes[i].Status]; c != nil {
			c.Inc()
		}
		if w := outcomes[i].Warning; w != "" {
			m.warned.WithLabelValues(string(w)).Inc()
		}
	}
}
