package server_test

import (
	"context"
	"errors"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/internal/traffic"
	"github.com/onefold/onefold/internal/useragent"
	"github.com/onefold/onefold/server/dashboard"
	"github.com/onefold/onefold/server/servertest"
)

// fill stores the traffic of the last days, up to now.
func fill(h *servertest.House, days, visitsPerDay int) {
	h.Helper()
	now := time.Now().UTC()
	agents, err := useragent.New(0)
	servertest.Must(h.T, err)
	generator, err := traffic.New(traffic.Options{Seed: 1, Start: now.AddDate(0, 0, 1-days).Truncate(24 * time.Hour), Days: days, VisitsPerDay: visitsPerDay})
	servertest.Must(h.T, err)
	var hits []analytics.Hit
	send := func() {
		outcomes, err := h.Collector.Ingest(h.Context(), "blog", hits)
		servertest.Must(h.T, err)
		for i := range outcomes {
			if outcomes[i].Status != analytics.Stored {
				h.Fatalf("made-up traffic: %+v", outcomes[i])
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
	servertest.Must(h.T, h.Worker.Drain(h.Context()))
}

func madeUp(e *traffic.Event, agents *useragent.Parser) analytics.Hit {
	agent := agents.Parse(e.UserAgent)
	hit := analytics.Hit{
		EventID: ulid.MustNew(ulid.Timestamp(e.At), ulid.DefaultEntropy()).String(), Name: e.Name, URL: e.Path, Referrer: e.Referrer,
		UserAgent: e.UserAgent, Address: e.VisitorIP, Screen: e.Screen, Language: e.Language, Country: e.Country, Properties: e.Properties,
		Browser: agent.Browser, OS: agent.OS, Device: agent.Device,
	}
	if e.Currency != "" {
		hit.Revenue = strconv.FormatInt(e.RevenueCents/100, 10) + ".00"
	}
	return hit
}

// TestTheDashboardInABrowser does what people do with the page, in Chromium: see e2e/dashboard.mjs, e2e/devices.mjs and e2e/events.mjs.
func TestTheDashboardInABrowser(t *testing.T) {
	for script, before := range map[string]func(*servertest.House){
		"dashboard.mjs": func(h *servertest.House) { fill(h, 10, 50) },
		"devices.mjs":   func(*servertest.House) {},
		"events.mjs":    func(*servertest.House) {},
	} {
		t.Run(script, func(t *testing.T) { inABrowser(t, script, before) })
	}
}

// needPage skips a test that looks at the page in a browser where either is missing.
func needPage(t *testing.T) {
	t.Helper()
	needBrowser(t)
	page, err := dashboard.Load()
	servertest.Must(t, err)
	if !page.Built() {
		t.Skip("the page is not built; run `make web`, which needs Node.js")
	}
}

// drive runs a script of e2e on a house nobody has an account of yet.
func drive(h *servertest.House, script string, arguments ...string) {
	h.Helper()
	link, err := h.Accounts.SetupToken(h.Context())
	servertest.Must(h.T, err)
	out, err := browserScript(h.T, script, append([]string{h.URL, link}, arguments...)...).CombinedOutput()
	h.Logf("%s", out)
	if err != nil {
		h.Errorf("%s: %v", script, err)
	}
}

func inABrowser(t *testing.T, script string, before func(*servertest.House)) {
	needPage(t)
	h := servertest.New(t, nil)
	before(h)
	ctx, stop := context.WithCancel(t.Context())
	folded := make(chan error, 1)
	go func() { folded <- h.Worker.Run(ctx) }()
	drive(h, script, os.Getenv("ONEFOLD_TEST_SHOTS"))
	stop()
	if err := <-folded; err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
