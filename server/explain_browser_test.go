package server_test

import (
	"os"
	"testing"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/server/servertest"
)

// TestExplainingInABrowser finds the campaign that lost visits last week, in Chromium: see
// e2e/explain.mjs.
func TestExplainingInABrowser(t *testing.T) {
	t.Parallel()
	servertest.NeedPage(t)
	h := servertest.New(t, nil)
	h.Settings(func(s *analytics.Site) { s.Public = true })
	servertest.Campaigns(h)
	if out, err := servertest.Script(t, "explain.mjs", h.URL, os.Getenv("ONEFOLD_TEST_SHOTS")).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
