package outbox

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/onefold/onefold/table/delivery"
)

// Counts are the attempts of this process to send messages, by product. It is a collector of
// Prometheus. The zero value is ready to use.
type Counts struct{ devices, sites delivery.Counts }

var attempts = prometheus.NewDesc("onefold_notifications_total",
	"Attempts of this process to send messages about sites and devices, by result. A failed attempt is repeated; after a dead one, the message is a dead letter.", []string{"product", "result"}, nil)

// Describe implements prometheus.Collector.
func (c *Counts) Describe(out chan<- *prometheus.Desc) { out <- attempts }

// Collect implements prometheus.Collector.
func (c *Counts) Collect(out chan<- prometheus.Metric) {
	for product, counts := range map[string]*delivery.Counts{"devices": &c.devices, "sites": &c.sites} {
		for result, n := range map[string]int64{
			"sent": counts.Sent.Load(), "failed": counts.Failed.Load(), "dead": counts.Dead.Load(), "skipped": counts.Skipped.Load(),
		} {
			out <- prometheus.MustNewConstMetric(attempts, prometheus.CounterValue, float64(n), product, result)
		}
	}
}
