package explore

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"strings"
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

// Events keep the lifetime that they had when they arrived. If the site keeps later ones for longer,
// the days whose events are gone are named.
func TestLongerRetention(t *testing.T) {
	w := newShopOf(t, "UTC", utc("2026-05-10T12:00"), analytics.Retention{RawDays: 10})
	random := rand.New(rand.NewPCG(3, 4))
	w.ingest(traffic(random, utc("2026-05-03T00:00"), utc("2026-05-10T11:00"), 300)...)
	w.rollUp()
	w.advance(20 * 24 * time.Hour)
	w.rollUp()
	_, err := analytics.UpdateSite(w.ctx, w.table, "shop", func(s *analytics.Site) error { s.Retention = analytics.Retention{}; return nil })
	w.must(err)
	w.advance(time.Hour)
	w.collector.Forget("shop")
	w.ingest(traffic(random, utc("2026-05-30T00:00"), utc("2026-05-30T12:00"), 50)...)
	ask := func(to string) (Report, error) {
		return w.x.Report(w.ctx, report.Request{Site: "shop", From: "2026-05-03", To: to, Period: analytics.Day}, firefox)
	}
	for range 2 { // and again a year later
		out, err := ask("2026-05-30")
		w.must(err)
		if len(out.Notes) != 1 || !strings.Contains(out.Notes[0], "2026-05-03 to 2026-05-10") || !strings.Contains(out.Notes[0], "before 2026-05-30") {
			t.Errorf("notes %q", out.Notes)
		}
		if out.Totals.PageViews == 0 {
			t.Error("the events of the last day are not counted")
		}
		if _, err := ask("2026-05-09"); !errors.Is(err, ErrGone) {
			t.Errorf("error %v", err)
		}
		w.advance(365 * 24 * time.Hour)
	}
}
