package server_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/alerts"
	"github.com/onefold/onefold/internal/calendar"
	"github.com/onefold/onefold/server/servertest"
	"github.com/onefold/onefold/table"
)

// TestAlertsInABrowser adds alert rules in the settings of a site, previews one, and sees an alert fire:
// see e2e/alerts.mjs.
func TestAlertsInABrowser(t *testing.T) {
	t.Parallel()
	servertest.NeedPage(t)
	h := servertest.New(t, nil)
	now := h.Table.Now().UTC().Truncate(time.Hour)
	for start := now.AddDate(0, 0, -80); start.Before(now); start = start.Add(time.Hour) {
		visitors := int64(50)
		if start.Equal(now.AddDate(0, 0, -3)) {
			visitors = 400
		}
		servertest.Must(t, analytics.StatsItems.Put(t.Context(), h.Table, &analytics.Stats{
			StatsKey:  analytics.StatsKey{SiteID: "blog", Period: analytics.Hour, Start: start.Format(calendar.HourLayout)},
			PageViews: visitors, NewVisitors: visitors, ActiveVisitors: visitors, Visits: visitors,
		}))
	}
	control := http.NewServeMux()
	// evaluate does what the server's maintenance does when the next hour has ended.
	control.HandleFunc("POST /evaluate", func(w http.ResponseWriter, r *http.Request) {
		later := table.New(h.Table.API(), h.Table.Name(), table.Options{Clock: func() time.Time { return time.Now().Add(75 * time.Minute) }})
		if _, err := alerts.Evaluate(r.Context(), later, h.Worker.Drain); err != nil {
			t.Error(err)
		}
		_, _ = io.WriteString(w, "done") // the browser may have left
	})
	clock := httptest.NewServer(control)
	t.Cleanup(clock.Close)
	drive(h, "alerts.mjs", clock.URL, os.Getenv("ONEFOLD_TEST_SHOTS"))
}
