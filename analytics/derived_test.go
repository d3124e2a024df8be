package analytics

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/onefold/onefold/analytics/internal/tally"
	"github.com/onefold/onefold/internal/calendar"
	"github.com/onefold/onefold/table"
)

func TestRealtime(t *testing.T) {
	w := newWorld(t, noon)
	site := w.site("site", "Europe/Berlin")
	hit := func(at time.Time, address, path, name string) Hit {
		return Hit{At: at, Path: path, Name: name, Address: address}
	}
	w.ingest("site",
		hit(noon, "1", "/a", ""), hit(noon, "1", "/a", ""), hit(noon, "2", "/b", ""), hit(noon, "2", "", "click"),
		hit(noon.Add(-9*time.Minute), "3", "/a", ""),
		hit(noon.Add(-RealtimeWindow-time.Minute), "4", "/late", ""), // too late for realtime
	)
	w.Drain()
	minutes := map[string]Realtime{}
	for m, err := range Minutes.All(w.Ctx, w.Table, site.LastMinutes(noon, 30)) {
		w.Must(err)
		sum := minutes[m.Minute]
		sum.merge(&m)
		minutes[m.Minute] = sum
	}
	m := minutes["2026-05-12T12:00"]
	if len(minutes) != 2 || m.PageViews != 3 || m.Events != 1 || m.Visitors.Count() != 2 || m.Pages["/a"].PageViews != 2 || m.Pages["/b"].PageViews != 1 {
		t.Errorf("%+v", minutes)
	}
	now := m.Visitors
	now.Merge(minutes["2026-05-12T11:51"].Visitors)
	if now.Count() != 3 {
		t.Errorf("%d visitors in the last minutes", now.Count())
	}
	w.Set(noon.Add(RealtimeWindow + time.Minute))
	for shard := range testShards {
		if _, err := Realtimes.Get(w.Ctx, w.Table, RealtimeKey{"site", "2026-05-12T12:00", shard}); !errors.Is(err, table.ErrNotFound) {
			t.Errorf("after the window: %v", err)
		}
	}
}

const aDay = 24 * time.Hour

// TestExpiry checks that items derived from an old import have not expired when they are written.
// They live as long after their arrival as items derived from today's events.
func TestExpiry(t *testing.T) {
	w := newWorld(t, noon)
	s := w.site("site", "UTC")
	old := noon.AddDate(-3, 0, 0)
	w.ingest("site",
		Hit{At: old, Path: "/old", Address: "1", Imported: true, Client: Client{Browser: "Firefox"}},
		Hit{At: noon, Path: "/new", Address: "1", Client: Client{Browser: "Firefox"}},
	)
	w.Drain()
	for _, c := range []struct {
		after              time.Duration
		visitors, sessions int
		hours, breakdowns  int
	}{
		{0, 2, 2, 2, 2},
		{29 * aDay, 2, 2, 2, 2},
		{30*aDay + 2*time.Hour, 2, 2, 2, 2},
		{89 * aDay, 2, 2, 2, 2},
		{90*aDay + 2*time.Hour, 0, 0, 0, 0},
	} {
		w.Set(noon.Add(c.after))
		visitors := 0
		for shard := range s.Sharding.At(noon) {
			for _, day := range []string{old.Format(calendar.DayLayout), noon.Format(calendar.DayLayout)} {
				visitors += w.visitorsIn(s, shard, day)
			}
		}
		sessions := 0
		for _, err := range RecentSessions(w.Ctx, w.Table, "site") {
			w.Must(err)
			sessions++
		}
		if hours, values := len(w.hours(s)), len(w.breakdowns(s, ByBrowser)); visitors != c.visitors || sessions != c.sessions || hours != c.hours || values != c.breakdowns {
			t.Errorf("after %v: %d visitors, %d sessions, %d hours, %d breakdowns; want %+v", c.after, visitors, sessions, hours, values, c)
		}
	}
}

// TestSitesRetention checks that a site's own retention applies to derived items.
func TestSitesRetention(t *testing.T) {
	w := newWorld(t, noon)
	s, err := CreateSite(w.Ctx, w.Table, NewSite{ID: "site", Retention: Retention{RawDays: 5, HourDays: 20}})
	w.Must(err)
	w.ingest("site", Hit{Path: "/", Address: "1"})
	w.Drain()
	for _, c := range []struct {
		after  time.Duration
		events int
		hours  int
	}{{4 * aDay, 1, 1}, {6 * aDay, 0, 1}, {21 * aDay, 0, 0}} {
		w.Set(noon.Add(c.after))
		if events, hours := len(w.events(s, noon.Add(-aDay), noon.Add(aDay))), len(w.hours(s)); events != c.events || hours != c.hours {
			t.Errorf("after %v: %d events, %d hours; want %+v", c.after, events, hours, c)
		}
	}
}

// visitorsIn counts the visitors of a day in a shard, regardless of their IDs.
func (w *world) visitorsIn(s Site, shard int, day string) (n int) {
	w.Helper()
	like := Visitor{VisitorKey: VisitorKey{s.SiteID, shard, "any", day}}
	for _, err := range VisitLog.All(w.Ctx, w.Table, like, w.Must) {
		w.Must(err)
		n++
	}
	return n
}

// TestRollupMarks checks that every change of an hour marks the site's day.
func TestRollupMarks(t *testing.T) {
	w := newWorld(t, noon)
	w.site("site", "Pacific/Auckland")
	w.ingest("site", Hit{At: noon, Path: "/", Address: "1"}, Hit{At: noon.Add(-time.Hour), Path: "/", Address: "1"})
	w.Drain()
	var marked []string
	for m, err := range DaysToRollUp.All(w.Ctx, w.Table, DaysIn{SiteID: "site"}) {
		w.Must(err)
		marked = append(marked, m.Day)
		w.Must(RollupMarks.Delete(w.Ctx, w.Table, m.RollupKey))
	}
	if len(marked) != 2 || marked[0] != "2026-05-12" || marked[1] != "2026-05-13" { // in this zone, midnight is at noon UTC
		t.Errorf("marked %v", marked)
	}
	w.Set(noon.Add(time.Minute))
	w.ingest("site", Hit{At: noon.Add(-2 * time.Hour), Path: "/", Address: "1"})
	w.Drain()
	m, err := RollupMarks.Get(w.Ctx, w.Table, RollupKey{"site", "2026-05-12"})
	if err != nil || m.Changed < noon.Unix() {
		t.Errorf("a late event: %+v, %v", m, err)
	}
	if _, err := RollupMarks.Get(w.Ctx, w.Table, RollupKey{"site", "2026-05-13"}); !errors.Is(err, table.ErrNotFound) {
		t.Errorf("a day that did not change: %v", err)
	}
}

// TestSessionsMergedAwayAreRemoved checks that one session is left if a late event joins two.
func TestSessionsMergedAwayAreRemoved(t *testing.T) {
	w := newWorld(t, noon)
	s := w.site("site", "UTC")
	at := func(m int) Hit {
		return Hit{At: noon.Add(-time.Hour + time.Duration(m)*time.Minute), Path: "/", Address: "1", UserID: "ann", Client: Client{Browser: "Firefox", Device: "desktop", Language: "en"}}
	}
	sessions := func() (n int) {
		for _, err := range UserJourney(w.Ctx, w.Table, "site", "ann") {
			w.Must(err)
			n++
		}
		return n
	}
	w.ingest("site", at(0), at(40))
	w.Drain()
	if n := sessions(); n != 2 {
		t.Errorf("%d sessions", n)
	}
	w.ingest("site", at(20))
	w.Drain()
	if n := sessions(); n != 1 {
		t.Errorf("%d sessions after the gap was closed", n)
	}
	w.checkFolded(s, noon.Add(-2*time.Hour), noon)
}

// TestFullBreakdown checks that an hour with more pages than a breakdown holds still adds up.
func TestFullBreakdown(t *testing.T) {
	w := newWorld(t, noon)
	s := w.site("site", "UTC")
	const n = 2400
	for part := range 4 {
		hits := make([]Hit, n/4)
		for i := range hits {
			hits[i] = Hit{At: noon.Add(-30 * time.Minute), Path: fmt.Sprint("/", part*len(hits)+i), Address: fmt.Sprint(i % 50)}
		}
		w.ingest("site", hits...)
		w.Drain()
	}
	hour := noon.Add(-time.Hour).Format(calendar.HourLayout)
	pages, entries, stats := w.breakdowns(s, ByPage)[hour], w.breakdowns(s, ByEntryPage)[hour], w.hours(s)[hour]
	if len(pages.Values) != tally.MaxValues || !pages.Full {
		t.Errorf("%d pages, full %v", len(pages.Values), pages.Full)
	}
	if sum := pages.Values.Sum().Plus(pages.Other); sum.PageViews != n || stats.PageViews != n {
		t.Errorf("pages add up to %+v, the hour has %d page views", sum, stats.PageViews)
	}
	if sum := entries.Values.Sum().Plus(entries.Other); sum.Visits != 50 || sum.PageViews != n || stats.Visits != 50 {
		t.Errorf("entry pages add up to %+v, the hour has %d visits", sum, stats.Visits)
	}
}

func TestBreakdownIsBoundedInBytes(t *testing.T) {
	var d Breakdown
	d.BreakdownKey = BreakdownKey{"site", Hour, ByPage, "2026-05-12T12:00:00Z", 0}
	for i := range 1000 {
		d.Values.Add(fmt.Sprintf("/%0511d", i), tally.Count{PageViews: 1 << 50, Visits: 1 << 50, Events: 1 << 50})
	}
	b := &Breakdown{BreakdownKey: d.BreakdownKey}
	b.merge(&d)
	if size := len(b.Values) * maxPath; size > tally.MaxBytes {
		t.Fatalf("%d bytes of values", size)
	}
	if _, err := Breakdowns.Encode(b); err != nil {
		t.Fatal(err)
	}
	if b.Values.Sum().Plus(b.Other) != d.Values.Sum() {
		t.Fatal("counts were lost")
	}
}
