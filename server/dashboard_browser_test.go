package server_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/server"
	"github.com/onefold/onefold/server/servertest"
)

// TestTheDashboardInABrowser uses the dashboard like people, in Chromium: see e2e/dashboard.mjs and
// e2e/devices.mjs. A test of package events does the same with e2e/events.mjs.
func TestTheDashboardInABrowser(t *testing.T) {
	t.Parallel()
	for script, before := range map[string]func(*servertest.Server){
		"dashboard.mjs": func(h *servertest.Server) {
			servertest.Fill(h.T, h.Collector, "blog", 10, 50)
			servertest.Must(h.T, h.Worker.Drain(h.Context()))
		},
		"devices.mjs": func(*servertest.Server) {},
	} {
		t.Run(script, func(t *testing.T) {
			t.Parallel()
			inABrowser(t, script, before)
		})
	}
}

// drive runs a script of e2e on a server without accounts.
func drive(h *servertest.Server, script string, arguments ...string) {
	h.Helper()
	link, err := h.Accounts.SetupToken(h.Context())
	servertest.Must(h.T, err)
	out, err := servertest.Script(h.T, script, append([]string{h.URL, link}, arguments...)...).CombinedOutput()
	h.Logf("%s", out)
	if err != nil {
		h.Errorf("%s: %v", script, err)
	}
}

func inABrowser(t *testing.T, script string, before func(*servertest.Server)) {
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

// TestPublicPagesAddUp views a public site without an account, in Chromium: see e2e/guests.mjs.
func TestPublicPagesAddUp(t *testing.T) {
	t.Parallel()
	servertest.NeedPage(t)
	h := servertest.New(t, func(o *server.Options) { o.TrustProxy = true })
	h.Settings(func(s *analytics.Site) { s.Public, s.CustomProperties = true, []string{"plan"} })
	for _, g := range []analytics.Goal{
		{GoalKey: analytics.GoalKey{SiteID: "blog", GoalID: "read"}, Name: "Read", Path: "/many/1**", Value: "0.50", Counting: analytics.OncePerSession},
		{GoalKey: analytics.GoalKey{SiteID: "blog", GoalID: "leave"}, Name: "Leave", Event: "outbound", Counting: analytics.EveryTime},
	} {
		servertest.Must(t, analytics.Goals.Create(t.Context(), h.Table, &g))
	}
	servertest.Fill(t, h.Collector, "blog", 3, 60)
	for part := range slices.Chunk(variety(), 500) {
		outcomes, err := h.Collector.Ingest(t.Context(), "blog", part)
		servertest.Must(t, err)
		for i := range outcomes {
			if outcomes[i].Status != analytics.Stored {
				t.Fatalf("%+v: %+v", part[i], outcomes[i])
			}
		}
	}
	servertest.Must(t, h.Worker.Drain(t.Context()))
	if out, err := servertest.Script(t, "guests.mjs", h.URL, os.Getenv("ONEFOLD_TEST_SHOTS")).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// variety returns hits with more values of every dimension than a panel shows, also none, and more
// pages in an hour than statistics list.
func variety() (hits []analytics.Hit) {
	for i := range 1100 {
		hits = append(hits, analytics.Hit{URL: fmt.Sprintf("https://example.com/many/%d", i), Address: "192.0.2.1", UserAgent: "test", Revenue: "1.50"})
	}
	some := func(i int, format string) string {
		if i%13 == 0 {
			return ""
		}
		return fmt.Sprintf(format, i%13)
	}
	for i := range 130 {
		h := analytics.Hit{
			URL: "https://example.com/few" + some(i, "?utm_campaign=c%d&utm_source=s&utm_medium=email"), Address: fmt.Sprint("198.51.100.", i/2), UserAgent: "test",
			Referrer: some(i, "https://r%d.example/"), Client: analytics.Client{Country: some(i, "A%X"), Region: some(i, "R%d"), City: some(i, "C%d"), Language: some(i, "l%d"), Browser: some(i, "B%d"), OS: some(i, "O%d"), Screen: some(i, "1%dx10")}, Properties: map[string]string{"plan": some(i, "p%d")},
		}
		hits = append(hits, h)
		h.Revenue, h.Properties = "-0.25", map[string]string{"url": fmt.Sprintf("https://u%d.example/", i%13)}
		h.Name = []string{"outbound", "download", "404"}[i%3]
		hits = append(hits, h)
	}
	return hits
}
