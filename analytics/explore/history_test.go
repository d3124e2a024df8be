package explore

import (
	"encoding/json"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/report"
)

// With raw events for as long as days, every question has the same answer when visitors' days, hours
// and sessions have expired.
func TestHistory(t *testing.T) {
	w := newShopOf(t, "Europe/Berlin", utc("2026-05-10T12:00"), analytics.Retention{})
	w.ingest(traffic(rand.New(rand.NewPCG(1, 2)), utc("2026-05-01T00:00"), utc("2026-05-10T11:00"), 300)...)
	w.rollUp()
	firefox := []Filter{{Dimension: analytics.ByBrowser, Op: Is, Values: []string{"Firefox"}}}
	all := w.between("2026-05-02", "2026-05-08")
	listed, err := w.x.Sessions(w.ctx, SessionsIn{Range: all, Limit: 5})
	w.must(err)
	answers := func() map[string]any {
		w.Helper()
		w.x.cubes = map[string]*cube{}
		figures, err := w.x.Report(w.ctx, report.Request{Site: "shop", From: all.From, To: all.To, By: analytics.ByPage, Period: analytics.Day}, firefox)
		w.must(err)
		sessions, err := w.x.Sessions(w.ctx, SessionsIn{Range: all, Filters: firefox, Limit: 1000})
		w.must(err)
		unfiltered, err := w.x.Sessions(w.ctx, SessionsIn{Range: all, Limit: 1000})
		w.must(err)
		sessions.Source, unfiltered.Source = "", "" // stored sessions at first, then raw events
		retention, err := w.x.Retention(w.ctx, RetentionIn{Range: all})
		w.must(err)
		lines := make([]Timeline, len(listed.Sessions))
		for i, s := range listed.Sessions {
			lines[i], err = w.x.Timeline(w.ctx, "shop", s.SessionID)
			w.must(err)
		}
		return map[string]any{"figures": figures, "filtered sessions": sessions, "sessions": unfiltered, "retention": retention, "timelines": lines}
	}
	want := answers()
	for _, days := range []int{31, 70, 500} { // the days are sealed, sessions have expired, a year and more
		w.advance(time.Duration(days) * 24 * time.Hour)
		for what, got := range answers() {
			a, err := json.Marshal(got)
			w.must(err)
			b, err := json.Marshal(want[what])
			w.must(err)
			if string(a) != string(b) {
				t.Errorf("%d days later, %s:\n%s\nwas\n%s", days, what, a, b)
			}
		}
	}
}
