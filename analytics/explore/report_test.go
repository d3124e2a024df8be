package explore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/report"
	"github.com/onefold/onefold/internal/calendar"
	"github.com/onefold/onefold/internal/decimal"
	"github.com/onefold/onefold/table"
)

var zones = []struct{ zone, from, to string }{
	{"UTC", "2026-02-26", "2026-03-04"},
	{"Europe/Berlin", "2026-03-27", "2026-04-02"},       // the 29th has 23 hours
	{"Europe/Berlin", "2026-10-23", "2026-11-01"},       // the 25th has 25 hours
	{"Asia/Kolkata", "2026-05-30", "2026-06-02"},        // hours start at half past in UTC
	{"Australia/Lord_Howe", "2026-04-04", "2026-04-06"}, // the clock goes back by half an hour
}

// inEachZone runs a test on random traffic in several time zones, around clock changes. inTwoZones
// runs it in two of them.
func inEachZone(t *testing.T, n int, test func(w *shop, random *rand.Rand, from, to string)) {
	inZones(t, 0, len(zones), n, test)
}

func inTwoZones(t *testing.T, n int, test func(w *shop, random *rand.Rand, from, to string)) {
	inZones(t, 2, 4, n, test)
}

func inZones(t *testing.T, first, last, n int, test func(w *shop, random *rand.Rand, from, to string)) {
	for _, tc := range zones[first:last] {
		t.Run(strings.ReplaceAll(tc.zone, "/", "_")+tc.from, func(t *testing.T) {
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			random := rand.New(rand.NewPCG(seed, 1))
			cal, err := calendar.LoadZone(tc.zone)
			if err != nil {
				t.Fatal(err)
			}
			start, err := cal.Start(tc.from)
			if err != nil {
				t.Fatal(err)
			}
			end, err := cal.Start(calendar.ShiftDay(tc.to, 1))
			if err != nil {
				t.Fatal(err)
			}
			w := newShop(t, tc.zone, end.Add(-2*time.Hour)) // the last day is not over
			w.ingest(traffic(random, start, end.Add(-2*time.Hour), n)...)
			test(w, random, tc.from, tc.to)
		})
	}
}

// drawFilters generates filters, mostly with values that occur.
func drawFilters(random *rand.Rand) []Filter {
	values := map[analytics.Dimension][]string{
		analytics.ByPage: {"/", "/a", "/blog/1", "/blog/*", "/blog/**", "/=cmd|' /C calc'!A0", "/\\|pipe", "nowhere", "(none)"}, analytics.ByEventName: {"signup", "order", "(none)"},
		analytics.ByCountry: {"DE", "FR", "(none)", "xx"}, analytics.ByBrowser: {"Firefox", "chrome", "o"}, analytics.BySource: {"Google", "(none)"}, analytics.ByGoal: {"blog", "buy", "(none)"}, analytics.ByHostname: {"example.com", "shop", "(none)"},
		analytics.ByEntryPage: {"/a", "/b", "/blog/**"}, analytics.ByExitPage: {"/a", "/"}, "prop:plan": {"pro", "free", "a:is:b|c", "(none)"}, "prop:od:is:d": {"x"},
	}
	dimensions := []analytics.Dimension{analytics.ByPage, analytics.ByEventName, analytics.ByCountry, analytics.ByBrowser, analytics.BySource, analytics.ByHostname, analytics.ByGoal, analytics.ByEntryPage, analytics.ByExitPage, "prop:plan"}
	var filters []Filter
	for range 1 + random.IntN(3) {
		d := dimensions[random.IntN(len(dimensions))]
		f := Filter{Dimension: d, Op: ops[random.IntN(len(ops))]}
		for range 1 + random.IntN(3) {
			f.Values = append(f.Values, values[d][random.IntN(len(values[d]))])
		}
		filters = append(filters, f)
	}
	return filters
}

// Without filters, raw events give exactly the same figures as reports, in every zone.
func TestRawAgreesWithReports(t *testing.T) {
	inEachZone(t, 400, func(w *shop, _ *rand.Rand, from, to string) {
		for _, period := range []analytics.Period{analytics.Hour, analytics.Day, analytics.Month} {
			in := report.Request{Site: w.site.SiteID, From: from, To: to, Period: period}
			want, err := report.Make(w.ctx, w.table, in)
			w.must(err)
			got, err := w.x.Report(w.ctx, in, nil)
			w.must(err)
			if len(got.Notes) > 0 || want.Totals.Visits == 0 || want.Totals.EngagedSeconds == 0 || want.Totals.Conversions == 0 {
				w.Errorf("by %s: notes %v, totals %+v", period, got.Notes, want.Totals)
			}
			if plain(got.Totals.Figures) != plain(want.Totals.Figures) || *got.Totals.BounceRate != *want.Totals.BounceRate {
				w.Errorf("by %s: raw totals are %+v, reported %+v", period, got.Totals, want.Totals)
			}
			if got.Totals.EngagedSeconds > want.Totals.EngagedSeconds { // some attention belongs to no visit
				w.Errorf("attention of %f s, reported %f", got.Totals.EngagedSeconds, want.Totals.EngagedSeconds)
			}
			for i, b := range want.Buckets {
				if got.Buckets[i].Start != b.Start || plain(got.Buckets[i].Figures) != plain(b.Figures) {
					w.Errorf("by %s: raw bucket is %+v, reported %+v", period, got.Buckets[i], b)
				}
			}
		}
		for _, by := range analytics.Dimensions {
			in := report.Request{Site: w.site.SiteID, From: from, To: to, By: by}
			want, err := report.Make(w.ctx, w.table, in)
			w.must(err)
			got, err := w.x.Report(w.ctx, in, nil)
			w.must(err)
			if a, b := rowsText(by, got.Top), rowsText(by, want.Top); a != b {
				w.Errorf("by %s: raw rows are\n%sreported\n%s", by, a, b)
			}
		}
	})
}

// rowsText writes the part of rows that both sources have.
func rowsText(by analytics.Dimension, rows []report.Row) string {
	var text strings.Builder
	for _, r := range rows {
		if by == analytics.ByEventName {
			r.Visits = 0
		}
		rate, duration := -1.0, -1.0
		if r.BounceRate != nil && r.Duration != nil {
			rate, duration = *r.BounceRate, *r.Duration
		}
		fmt.Fprintf(&text, "%s %d %d %d %f %f %s\n", r.Value, r.Visits, r.PageViews, r.Events, rate, duration, r.Revenue)
	}
	return text.String()
}

// With filters, they match the raw events as the oracle reads them.
func TestFiltersAgreeWithTheOracle(t *testing.T) {
	inEachZone(t, 400, func(w *shop, random *rand.Rand, from, to string) {
		all := w.oracle(from, to)
		some := 0
		for n := 0; n < 6 || some == 0 && n < 100; n++ { // a few filters may select nothing
			filters := drawFilters(random)
			want := all.filtered(filters)
			some += len(want.visits)
			w.checkFigures(want, filters, from, to)
			w.checkRows(want, filters, from, to)
			if w.Failed() {
				w.Fatalf("filters %v", filters)
			}
		}
		if some == 0 {
			w.Error("no filter selected anything")
		}
	})
}

// Except for visitors, the figures of a filter and of its opposite add up to the total.
func TestFilterAndOppositeAddUp(t *testing.T) {
	inTwoZones(t, 300, func(w *shop, random *rand.Rand, from, to string) {
		in := report.Request{Site: w.site.SiteID, From: from, To: to}
		all, err := w.x.Report(w.ctx, in, nil)
		w.must(err)
		for range 10 {
			f := drawFilters(random)[0]
			pair := []Op{Is, IsNot}
			if random.IntN(2) == 0 {
				pair = []Op{Contains, ContainsNot}
			}
			var sum report.Figures
			for _, f.Op = range pair {
				part, err := w.x.Report(w.ctx, in, []Filter{f})
				w.must(err)
				p := part.Totals
				sum.Visits, sum.PageViews, sum.Events = sum.Visits+p.Visits, sum.PageViews+p.PageViews, sum.Events+p.Events
				sum.Bounces, sum.Seconds, sum.Conversions = sum.Bounces+p.Bounces, sum.Seconds+p.Seconds, sum.Conversions+p.Conversions
				sum.Revenue = decimal.Add(sum.Revenue, p.Revenue)
			}
			want := all.Totals.Figures
			want.Visitors, sum.EngagedSeconds = 0, want.EngagedSeconds
			if plain(sum) != plain(want) {
				w.Errorf("%v and its opposite are %+v, all is %+v", f, sum, want)
			}
		}
	})
}

func (w *shop) checkFigures(want *oracle, filters []Filter, from, to string) {
	w.Helper()
	for period, bucket := range map[analytics.Period]func(v *oracleVisit, e analytics.Event) string{
		analytics.Hour:  func(_ *oracleVisit, e analytics.Event) string { return want.hour(e) },
		analytics.Day:   func(v *oracleVisit, _ analytics.Event) string { return v.day },
		analytics.Month: func(v *oracleVisit, _ analytics.Event) string { return v.day[:7] },
	} {
		got, err := w.x.Report(w.ctx, report.Request{Site: w.site.SiteID, From: from, To: to, Period: period}, filters)
		w.must(err)
		known := want.figures(bucket)
		for _, b := range got.Buckets {
			expected := report.Figures{}
			if f := known[b.Start]; f != nil {
				expected = f.Figures
				delete(known, b.Start)
			}
			b.Conversions = 0
			if plain(b.Figures) != plain(expected) {
				w.Errorf("%s %s is %+v, want %+v", period, b.Start, b.Figures, expected)
			}
		}
		if len(known) > 0 {
			w.Errorf("by %s: %d buckets are missing", period, len(known))
		}
		total := want.figures(func(*oracleVisit, analytics.Event) string { return "" })[""]
		if total == nil {
			total = &oracleFigures{}
		}
		total.Conversions = want.conversions()
		if plain(got.Totals.Figures) != plain(total.Figures) {
			w.Errorf("totals are %+v, want %+v", got.Totals, total.Figures)
		}
	}
}

func (w *shop) checkRows(want *oracle, filters []Filter, from, to string) {
	w.Helper()
	for _, by := range []analytics.Dimension{analytics.ByCountry, analytics.ByEntryPage, analytics.ByPage, analytics.ByEventName, "prop:plan"} {
		visits, who := map[string]int64{}, map[string]map[string]bool{}
		for _, v := range want.visits {
			seen := map[string]bool{}
			for _, value := range v.values(by) {
				if value == "(none)" && (by == analytics.ByPage || by == analytics.ByEventName || by == "prop:plan") || seen[value] {
					continue
				}
				seen[value] = true
				visits[value]++
				if who[value] == nil {
					who[value] = map[string]bool{}
				}
				who[value][v.visitor] = true
			}
		}
		got, err := w.x.Report(w.ctx, report.Request{Site: w.site.SiteID, From: from, To: to, By: by}, filters)
		w.must(err)
		found := 0
		for _, r := range got.Top {
			if r.Visits > 0 { // others have only events, no visits
				found++
			}
			if r.Visits != visits[r.Value] || r.Visitors != int64(len(who[r.Value])) {
				w.Errorf("by %s: %q has %d visits of %d visitors, want %d of %d", by, r.Value, r.Visits, r.Visitors, visits[r.Value], len(who[r.Value]))
			}
		}
		if found != len(visits) {
			w.Errorf("by %s: %d rows, want %d", by, found, len(visits))
		}
	}
}

func TestParseFilter(t *testing.T) {
	for text, want := range map[string]string{
		"country:is:DE":                        "country is [DE]",
		"country:is_not:DE|FR":                 "country is_not [DE FR]",
		`page:is:/a\|b|/c\\`:                   `page is [/a|b /c\]`,
		"page:matches:/blog/**":                "page matches [/blog/**]",
		"prop:a:b:contains_not::is:x":          "prop:a:b contains_not [:is:x]",
		"event:contains:is:":                   "event contains [is:]",
		"source:is:http://x:is:y":              "source is [http://x:is:y]",
		"page:is":                              "",
		"":                                     "",
		"colour:is:red":                        "",
		"prop::is:red":                         "",
		"country:is:":                          "",
		"country:is:DE||FR":                    "",
		"country:is:(other)":                   "",
		"country:like:DE":                      "",
		"page:is:" + strings.Repeat("a|", 200): "",
		"page:is:" + strings.Repeat("a", 513):  "",
	} {
		f, err := ParseFilter(text)
		got := ""
		if err == nil {
			got = fmt.Sprintf("%s %s %v", f.Dimension, f.Op, f.Values)
			if again, err := ParseFilter(f.String()); err != nil || fmt.Sprint(again) != fmt.Sprint(f) {
				t.Errorf("%q is written as %q, which is read as %v, %v", text, f, again, err)
			}
		} else if !errors.Is(err, ErrQuestion) {
			t.Errorf("%q: error %v", text, err)
		}
		if got != want {
			t.Errorf("%q: got %q, want %q (%v)", text, got, want, err)
		}
	}
}

// Days without raw events are left out and named, and never shown with figures that are too small.
func TestExpiredRawEvents(t *testing.T) {
	w := newShop(t, "Europe/Berlin", utc("2026-05-10T12:00"))
	w.ingest(traffic(rand.New(rand.NewPCG(1, 2)), utc("2026-05-01T00:00"), utc("2026-05-10T11:00"), 300)...)
	w.rollUp()
	filters := []Filter{{Dimension: analytics.ByBrowser, Op: Is, Values: []string{"Firefox"}}}
	in := report.Request{Site: "shop", From: "2026-05-01", To: "2026-05-12"}
	all, err := w.x.Report(w.ctx, in, filters)
	w.must(err)
	if len(all.Notes) > 0 || len(all.Buckets) != 12 {
		t.Errorf("notes %v, %d buckets", all.Notes, len(all.Buckets))
	}
	w.advance(30*24*time.Hour - time.Hour)
	before, err := w.x.Report(w.ctx, in, filters) // the earlier days were imported late, so their events live from then on
	w.must(err)
	if len(before.Notes) > 1 || before.Buckets[len(before.Buckets)-1].Start != "2026-05-12" {
		t.Errorf("notes %v, buckets %v", before.Notes, before.Buckets)
	}
	for _, b := range before.Buckets {
		for _, a := range all.Buckets {
			if a.Start == b.Start && a != b {
				t.Errorf("%s was %+v, is %+v", a.Start, a.Figures, b.Figures)
			}
		}
	}
	w.advance(3 * 24 * time.Hour)
	in.To = "2026-05-10"
	if _, err := w.x.Report(w.ctx, in, filters); !errors.Is(err, ErrGone) {
		t.Errorf("error %v", err)
	}
}

func TestInvalidQueries(t *testing.T) {
	w := newShop(t, "UTC", utc("2026-05-10T12:00"))
	filter := []Filter{{Dimension: analytics.ByBrowser, Op: Is, Values: []string{"Firefox"}}}
	for name, in := range map[string]report.Request{
		"malformed day":  {Site: "shop", From: "yesterday", To: "2026-05-10"},
		"no days":        {Site: "shop", From: "2026-05-11", To: "2026-05-10"},
		"too many days":  {Site: "shop", From: "1999-05-11", To: "2026-05-10"},
		"unknown period": {Site: "shop", From: "2026-05-10", To: "2026-05-10", Period: "week"},
		"dimension":      {Site: "shop", From: "2026-05-10", To: "2026-05-10", By: "colour"},
	} {
		if _, err := w.x.Report(w.ctx, in, filter); !errors.Is(err, ErrQuestion) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	if _, err := w.x.Report(w.ctx, report.Request{Site: "other", From: "2026-05-10", To: "2026-05-10"}, filter); !errors.Is(err, table.ErrNotFound) {
		t.Errorf("unknown site: error %v", err)
	}
	w.ingest(traffic(rand.New(rand.NewPCG(1, 2)), utc("2026-05-10T00:00"), utc("2026-05-10T11:00"), 50)...)
	for _, o := range []Options{{Events: 49}, {DayEvents: 49}} {
		if _, err := New(w.table, o).Report(w.ctx, report.Request{Site: "shop", From: "2026-05-10", To: "2026-05-10"}, filter); !errors.Is(err, ErrTooMuch) {
			t.Errorf("%+v: error %v", o, err)
		}
	}
	ctx, cancel := context.WithCancel(w.ctx)
	cancel()
	if _, err := w.x.Report(ctx, report.Request{Site: "shop", From: "2026-05-10", To: "2026-05-10"}, filter); !errors.Is(err, context.Canceled) {
		t.Errorf("given up: error %v", err)
	}
}

// A day has fifty thousand paths, and a breakdown keeps only as many as it may.
func TestManyPaths(t *testing.T) {
	w := newShop(t, "UTC", utc("2026-05-10T12:00"))
	const n = 50_000
	hits := make([]analytics.Hit, n)
	for i := range hits {
		hits[i] = analytics.Hit{
			At: utc("2026-05-10T01:00").Add(time.Duration(i) * 100 * time.Millisecond), Imported: true,
			Address: fmt.Sprint(i % 997), UserAgent: "test", Path: fmt.Sprintf("/p/%d", i),
		}
	}
	for ; len(hits) > 0; hits = hits[1000:] {
		if _, err := w.collector.Ingest(w.ctx, w.site.SiteID, hits[:1000]); err != nil {
			t.Fatal(err)
		}
	}
	in := report.Request{Site: "shop", From: "2026-05-10", To: "2026-05-10", By: analytics.ByPage}
	filters := []Filter{{Dimension: analytics.ByPage, Op: Matches, Values: []string{"/p/*"}}}
	out, err := w.x.Report(w.ctx, in, filters)
	w.must(err)
	if len(out.Top) != n || out.Top[n-1].PageViews != 1 || out.Totals.PageViews != n {
		t.Errorf("%d rows, totals %+v", len(out.Top), out.Totals)
	}
	out, err = New(w.table, Options{Values: 1000}).Report(w.ctx, in, filters)
	w.must(err)
	if len(out.Top) != 1001 || out.Top[0].Value != analytics.Other || out.Top[0].PageViews != n-1000 || len(out.Notes) != 1 {
		t.Errorf("%d rows, the first is %+v, notes %v", len(out.Top), out.Top[0], out.Notes)
	}
}
