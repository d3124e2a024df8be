package servertest

import (
	"strconv"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/internal/traffic"
	"github.com/onefold/onefold/internal/useragent"
)

// Fill stores simulated traffic of a site's last days, up to now.
func Fill(t *testing.T, c *analytics.Collector, site string, days, visitsPerDay int) {
	t.Helper()
	now := time.Now().UTC()
	agents, err := useragent.New(0)
	Must(t, err)
	generator, err := traffic.New(traffic.Options{Seed: 1, Start: now.AddDate(0, 0, 1-days).Truncate(24 * time.Hour), Days: days, VisitsPerDay: visitsPerDay})
	Must(t, err)
	var hits []analytics.Hit
	send := func() {
		outcomes, err := c.Ingest(t.Context(), site, hits)
		Must(t, err)
		for i := range outcomes {
			if outcomes[i].Status != analytics.Stored {
				t.Fatalf("made-up traffic: %+v", outcomes[i])
			}
		}
		hits = hits[:0]
	}
	for e := range generator.Events() {
		if e.At.After(now) {
			break
		}
		if hits = append(hits, madeUp(&e, agents)); len(hits) == 500 {
			send()
		}
	}
	send()
}

func madeUp(e *traffic.Event, agents *useragent.Parser) analytics.Hit {
	agent := agents.Parse(e.UserAgent)
	hit := analytics.Hit{
		EventID: ulid.MustNew(ulid.Timestamp(e.At), ulid.DefaultEntropy()).String(), Name: e.Name, URL: e.Path, Referrer: e.Referrer,
		UserAgent: e.UserAgent, Address: e.VisitorIP, Properties: e.Properties,
		Client: analytics.Client{Screen: e.Screen, Language: e.Language, Country: e.Country, Browser: agent.Browser, OS: agent.OS, Device: agent.Device},
	}
	if e.Currency != "" {
		hit.Revenue = strconv.FormatInt(e.RevenueCents/100, 10) + ".00"
	}
	return hit
}
