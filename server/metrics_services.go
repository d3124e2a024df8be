package server

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/onefold/onefold/dynamo/resilient"
	"github.com/onefold/onefold/internal/spool"
	"github.com/onefold/onefold/server/internal/middleware"
)

// registerServices registers the metrics of the services that a server depends on.
func registerServices(m *middleware.Metrics, o *Options) {
	c := &serviceCollector{stats: map[string]func() resilient.Stats{}}
	if o.Service != nil {
		c.stats["table"] = o.Service.Stats
	}
	if o.StreamService != nil {
		c.stats["streams"] = o.StreamService.Stats
	}
	if len(c.stats) > 0 {
		m.MustRegister(c)
	}
	if o.Drain != nil {
		m.MustRegister(&spoolCollector{o.Drain, o.Clock})
	}
}

// serviceCollector reads the counters of services when it is scraped. No label contains a key:
// there are too many, and some identify people. The log names hot keys.
type serviceCollector struct {
	stats map[string]func() resilient.Stats // by service
}

func storeDesc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("onefold_store_"+name, help, append([]string{"service"}, labels...), nil)
}

var (
	storeUp        = storeDesc("up", "1 while the service answers, 0 while its circuit breaker is not closed.")
	storeTrips     = storeDesc("breaker_trips_total", "How often the service became unreachable.")
	storeRequests  = storeDesc("requests_total", "Requests, by outcome: asked, repeated, timed_out, broken, given_up, refused (breaker open), crowded (too many waiting).", "kind")
	storeThrottles = storeDesc("throttles_total", "Requests that the service throttled, by the limit that was exceeded.", "resource", "operation", "limit")
	storeHot       = storeDesc("hot_keys", "Partition keys that were throttled for their own load within the last minute. The log names the hottest.")
	storeInFlight  = storeDesc("in_flight", "Requests in flight.")
	storeBytes     = storeDesc("in_flight_bytes", "Approximate size of the requests in flight.")
	storeWaiting   = storeDesc("waiting", "Requests waiting to be sent.")
	storeBudget    = storeDesc("retry_budget", "Retries left in the retry budget.")
)

// Describe implements prometheus.Collector.
func (c *serviceCollector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{storeUp, storeTrips, storeRequests, storeThrottles, storeHot, storeInFlight, storeBytes, storeWaiting, storeBudget} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (c *serviceCollector) Collect(out chan<- prometheus.Metric) {
	for service, stats := range c.stats {
		st := stats()
		tell := func(d *prometheus.Desc, kind prometheus.ValueType, v float64, labels ...string) {
			out <- prometheus.MustNewConstMetric(d, kind, v, append([]string{service}, labels...)...)
		}
		up := 0.0
		if st.Breaker.State == resilient.Closed {
			up = 1
		}
		tell(storeUp, prometheus.GaugeValue, up)
		tell(storeTrips, prometheus.CounterValue, float64(st.Breaker.Trips))
		for kind, n := range map[string]int64{
			"asked": st.Requests, "repeated": st.Repeats, "timed_out": st.Timeouts, "broken": st.Broken, "given_up": st.Failures, "refused": st.Refused, "crowded": st.Crowded,
		} {
			tell(storeRequests, prometheus.CounterValue, float64(n), kind)
		}
		for t, n := range st.Throttles {
			operation := "read"
			if t.Write {
				operation = "write"
			}
			tell(storeThrottles, prometheus.CounterValue, float64(n), t.Resource, operation, string(t.Limit))
		}
		tell(storeHot, prometheus.GaugeValue, float64(st.HotKeys))
		tell(storeInFlight, prometheus.GaugeValue, float64(st.InFlight))
		tell(storeBytes, prometheus.GaugeValue, float64(st.InFlightBytes))
		tell(storeWaiting, prometheus.GaugeValue, float64(st.Waiting))
		tell(storeBudget, prometheus.GaugeValue, float64(st.BudgetLeft))
	}
}

// spoolCollector exports the metrics of the spool, which holds facts that wait for the store.
type spoolCollector struct {
	drain *spool.Drain
	clock func() time.Time
}

var (
	spoolWaiting  = prometheus.NewDesc("onefold_spool_records", "Acknowledged events and readings that wait for the store.", nil, nil)
	spoolBytes    = prometheus.NewDesc("onefold_spool_bytes", "Size of the spool on disk.", nil, nil)
	spoolMaxBytes = prometheus.NewDesc("onefold_spool_max_bytes", "Maximum size of the spool on disk.", nil, nil)
	spoolOldest   = prometheus.NewDesc("onefold_spool_oldest_seconds", "Age of the oldest waiting record.", nil, nil)
	spoolTotal    = prometheus.NewDesc("onefold_spool_total", "Records, by outcome: kept, drained, refused (no room), put_aside (accepted by nobody), and failed (attempts to drain).", []string{"kind"}, nil)
	spoolDamaged  = prometheus.NewDesc("onefold_spool_damaged_bytes", "Bytes that were unreadable when the spool was opened.", nil, nil)
)

// Describe implements prometheus.Collector.
func (c *spoolCollector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{spoolWaiting, spoolBytes, spoolMaxBytes, spoolOldest, spoolTotal, spoolDamaged} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (c *spoolCollector) Collect(out chan<- prometheus.Metric) {
	st := c.drain.Spool.Stats()
	age := 0.0
	if st.Records > 0 {
		age = c.clock().Sub(st.Oldest).Seconds()
	}
	for d, v := range map[*prometheus.Desc]float64{
		spoolWaiting: float64(st.Records), spoolBytes: float64(st.Bytes), spoolMaxBytes: float64(st.MaxBytes), spoolOldest: age, spoolDamaged: float64(st.Damaged),
	} {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v)
	}
	for kind, n := range map[string]int64{
		"kept": st.Appended, "drained": st.Done, "refused": st.Refused, "put_aside": c.drain.Refused(), "failed": c.drain.Failures(),
	} {
		out <- prometheus.MustNewConstMetric(spoolTotal, prometheus.CounterValue, float64(n), kind)
	}
}
