package server_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/server/servertest"
)

// TestTheDashboardInABrowser does what people do with the page, in Chromium: see e2e/dashboard.mjs, e2e/devices.mjs and e2e/events.mjs.
func TestTheDashboardInABrowser(t *testing.T) {
	for script, before := range map[string]func(*servertest.House){
		"dashboard.mjs": func(h *servertest.House) {
			servertest.Fill(h.T, h.Collector, "blog", 10, 50)
			servertest.Must(h.T, h.Worker.Drain(h.Context()))
		},
		"devices.mjs": func(*servertest.House) {},
		"events.mjs":  func(*servertest.House) {},
	} {
		t.Run(script, func(t *testing.T) { inABrowser(t, script, before) })
	}
}

// drive runs a script of e2e on a house nobody has an account of yet.
func drive(h *servertest.House, script string, arguments ...string) {
	h.Helper()
	link, err := h.Accounts.SetupToken(h.Context())
	servertest.Must(h.T, err)
	out, err := servertest.Script(h.T, script, append([]string{h.URL, link}, arguments...)...).CombinedOutput()
	h.Logf("%s", out)
	if err != nil {
		h.Errorf("%s: %v", script, err)
	}
}

func inABrowser(t *testing.T, script string, before func(*servertest.House)) {
	servertest.NeedPage(t)
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

// TestWhatGuestsSeeAddsUp looks at a public site as somebody without an account, in Chromium: see e2e/guests.mjs. The site
// has more pages in an hour than statistics list.
func TestWhatGuestsSeeAddsUp(t *testing.T) {
	servertest.NeedPage(t)
	h := servertest.New(t, nil)
	h.Settings(func(s *analytics.Site) { s.Public = true })
	servertest.Fill(t, h.Collector, "blog", 3, 60)
	hits := make([]analytics.Hit, 1100)
	for i := range hits {
		hits[i] = analytics.Hit{URL: fmt.Sprintf("https://example.com/many/%d", i), Address: "192.0.2.1", UserAgent: "test", Revenue: "1.50"}
	}
	for part := range slices.Chunk(hits, 500) {
		_, err := h.Collector.Ingest(t.Context(), "blog", part)
		servertest.Must(t, err)
	}
	servertest.Must(t, h.Worker.Drain(t.Context()))
	if out, err := servertest.Script(t, "guests.mjs", h.URL, os.Getenv("ONEFOLD_TEST_SHOTS")).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
