package events

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/subscription"
)

// subscriptionCollector reads the progress of subscriptions when it is scraped.
type subscriptionCollector struct{ store *eventstore.Store }

var (
	subscriptionLag     = prometheus.NewDesc("onefold_subscription_lag", "Appends of the feed that a subscription has yet to handle.", []string{"subscription"}, nil)
	subscriptionSeconds = prometheus.NewDesc("onefold_subscription_lag_seconds", "Time since the oldest append that a subscription has yet to handle entered the feed; 0 if there is none.", []string{"subscription"}, nil)
	subscriptionParked  = prometheus.NewDesc("onefold_subscription_parked_events", "Parked events of a subscription.", []string{"subscription"}, nil)
)

const (
	maxMeasured   = 100             // subscriptions with metrics, the first by name: people choose the names
	measureWithin = 3 * time.Second // so that an unreachable table does not fail the whole scrape
)

// Describe implements prometheus.Collector.
func (c *subscriptionCollector) Describe(out chan<- *prometheus.Desc) {
	out <- subscriptionLag
	out <- subscriptionSeconds
	out <- subscriptionParked
}

// Collect implements prometheus.Collector. Subscriptions that cannot be read have no metrics.
func (c *subscriptionCollector) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), measureWithin)
	defer cancel()
	all, err := subscription.List(ctx, c.store)
	if err != nil {
		return
	}
	for i := range all[:min(len(all), maxMeasured)] {
		st := &all[i]
		tell := func(d *prometheus.Desc, v float64) {
			out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, st.Name)
		}
		tell(subscriptionLag, float64(st.Lag()))
		tell(subscriptionParked, float64(st.Parked()))
		if behind, err := st.Behind(ctx, c.store); err == nil {
			tell(subscriptionSeconds, behind.Seconds())
		}
	}
}
