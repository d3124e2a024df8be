package imported_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/imported"
	"github.com/onefold/onefold/analytics/imported/exports"
	"github.com/onefold/onefold/analytics/reconcile"
	"github.com/onefold/onefold/analytics/report"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/fold/foldtest"
	"github.com/onefold/onefold/table"
)

// site is a World with one site.
type site struct {
	*foldtest.World
}

func newSite(t *testing.T, zone, now string) *site {
	t.Helper()
	at, err := time.Parse("2006-01-02T15:04", now)
	if err != nil {
		t.Fatal(err)
	}
	w := &site{foldtest.NewWorld(t, foldtest.Setup{
		Schema: reconcile.Schema, Group: analytics.FoldGroup, At: at,
		Folds: func(*table.Table) []*fold.Fold { return analytics.Folds(analytics.Config{}) },
	})}
	_, err = analytics.CreateSite(w.Ctx, w.Table, analytics.NewSite{ID: "site", TimeZone: zone})
	w.Must(err)
	return w
}

// bring imports files and fails the test if it cannot.
func (w *site) bring(o imported.Options, files ...string) imported.Result {
	w.Helper()
	r, err := w.try(w.Ctx, o, files...)
	w.Must(err)
	return r
}

func (w *site) try(ctx context.Context, o imported.Options, files ...string) (imported.Result, error) {
	w.Helper()
	into, err := report.ImportInto(w.Ctx, w.Table, "site")
	w.Must(err)
	e, err := exports.Open(files...)
	w.Must(err)
	defer func() { w.Must(e.Close()) }()
	return imported.Run(ctx, w.Table, into, e, o)
}

// csv imports one table given as text.
func (w *site) csv(content string) (imported.Result, error) {
	w.Helper()
	into, err := report.ImportInto(w.Ctx, w.Table, "site")
	w.Must(err)
	return imported.Run(w.Ctx, w.Table, into, exports.OpenCSV("x.csv", strings.NewReader(content), int64(len(content))), imported.Options{})
}

func (w *site) view(page string, at time.Time) {
	w.Helper()
	out, err := analytics.NewCollector(w.Table, analytics.CollectorOptions{}).Ingest(w.Ctx, "site", []analytics.Hit{{At: at, Imported: true, Address: "1.2.3.4", Path: page, Client: analytics.Client{Country: "DE"}}})
	w.Must(err)
	if out[0].Status != analytics.Stored {
		w.Fatalf("%+v", out[0])
	}
	w.Drain()
	_, err = reconcile.RollUp(w.Ctx, w.Table, "site", w.Now())
	w.Must(err)
}

func (w *site) report(from, to string, p analytics.Period, by analytics.Dimension) report.Report {
	w.Helper()
	out, err := report.Make(w.Ctx, w.Table, report.Request{Site: "site", From: from, To: to, Period: p, By: by})
	w.Must(err)
	return out
}

// all returns all report figures for a range as text, for comparison.
func (w *site) all(from, to string) string {
	w.Helper()
	var b strings.Builder
	for _, p := range []analytics.Period{analytics.Day, analytics.Month} {
		for _, d := range analytics.Dimensions {
			out, err := json.Marshal(w.report(from, to, p, d))
			w.Must(err)
			fmt.Fprintf(&b, "%s %s %s\n", p, d, out)
		}
	}
	return b.String()
}

func rows(out *report.Report) string {
	var b strings.Builder
	for i := range out.Top {
		r := &out.Top[i]
		fmt.Fprintf(&b, "%s %d/%d/%d, ", r.Value, r.PageViews, r.Visits, r.Events)
	}
	return b.String()
}

const plausible = "exports/testdata/plausible"

// Reports on an imported export match the sums of its files, by day, month and dimension.
func TestReportsCountWhatWasImported(t *testing.T) {
	w := newSite(t, "Europe/Berlin", "2024-02-05T12:00")
	r := w.bring(imported.Options{}, plausible)
	if r.Days != 3 || r.Visitors != 402 || r.Visits != 442 || r.PageViews != 862 || r.Events != 10 || r.Cut != 0 || r.Held != 0 {
		t.Errorf("%+v", r)
	}
	for _, period := range []analytics.Period{analytics.Day, analytics.Month} {
		out := w.report("2024-01-01", "2024-01-31", period, analytics.ByPage)
		if f := out.Totals.Figures; f.PageViews != 862 || f.Visits != 442 || f.Visitors != 402 || f.Bounces != 286 || f.Seconds != 59043 || f.Events != 10 || f.EngagedSeconds != 3012 {
			t.Errorf("by %s: %+v", period, f)
		}
		if got := rows(&out); got != "/ 525/300/0, /Ünïcode 233/128/0, /docs 104/60/0, " {
			t.Errorf("by %s: %s", period, got)
		}
		if out.Imported == nil || !out.Imported.Included || out.Imported.From != "2024-01-01" || out.Imported.To != "2024-01-03" {
			t.Errorf("by %s: %+v", period, out.Imported)
		}
	}
	for d, want := range map[analytics.Dimension]string{
		analytics.BySource:   "(none) 100/64/0, news 131/42/0", // added to the site's other sources
		analytics.ByBrowser:  "Firefox 325/180/0, Chrome 250/114/0, Safari 233/128/0, Edge 54/20/0, ",
		analytics.ByOS:       "(none) 54/20/0", // a row without a system
		analytics.ByDevice:   "desktop 612/301/0, tablet 233/128/0, mobile 17/13/0, ",
		analytics.ByCountry:  "DE 525/264/0, (none) 233/128/0, FR 104/50/0, ", // no row of the third day has a country
		analytics.ByScreen:   "",                                              // the export has no screens
		analytics.ByOutbound: "https://one.example.com/ 0/0/2, ",
	} {
		out := w.report("2024-01-01", "2024-01-31", analytics.Day, d)
		got := rows(&out)
		for _, part := range strings.SplitAfter(want, ", ") {
			if !strings.Contains(got, strings.TrimSuffix(part, ", ")) || want == "" && got != "" {
				t.Errorf("by %s: %s, want %s", d, got, want)
			}
		}
	}
	if day := w.report("2024-01-02", "2024-01-02", analytics.Day, analytics.ByPage); day.Totals.PageViews != 325 || day.Buckets[0].Visitors != 166 {
		t.Errorf("%+v", day.Totals)
	}
	hours := w.report("2024-01-02", "2024-01-02", analytics.Hour, analytics.ByPage)
	if hours.Totals.PageViews != 0 || len(hours.Top) != 0 || hours.Imported == nil || hours.Imported.Included {
		t.Errorf("hours: %+v %+v", hours.Totals, hours.Imported)
	}
	if none := w.report("2024-01-04", "2024-01-31", analytics.Day, analytics.ByPage); none.Imported != nil || none.Totals.PageViews != 0 {
		t.Errorf("%+v", none)
	}
	from, to, err := analytics.RecentDays(w.Ctx, w.Table, "site", "", "", 30)
	if err != nil || from != "2023-12-05" || to != "2024-01-03" {
		t.Error(from, to, err)
	}
}

// On a day on which a dimension was measured without any value, all visits have no value. If none
// of the dimension's tables has the day, nothing is known.
func TestDaysWithoutValues(t *testing.T) {
	w := newSite(t, "UTC", "2024-04-05T12:00")
	w.bring(imported.Options{}, plausible)
	for _, csv := range []string{
		"date,sessions,screenPageViews\n20240201,3,4\n20240202,5,6\n20240203,7,8\n",
		"date,country,sessions,screenPageViews\n20240201,Germany,3,4\n20240202,(not set),5,6\n",
		"date,pagePath,screenPageViews\n20240201,(not set),4\n20240203,/,8\n",
		"date,sessionMedium,sessions,screenPageViews\n20240202,organic,5,6\n20240203,,7,8\n",
	} {
		_, err := w.csv(csv)
		w.Must(err)
	}
	for _, c := range []struct {
		from, to string
		by       analytics.Dimension
		want     string
	}{
		{"2024-01-03", "2024-01-03", analytics.ByCountry, "(none) 233/128/0, "}, // Plausible has no rows for visits without a place
		{"2024-01-03", "2024-01-03", analytics.ByCity, "(none) 233/128/0, "},
		{"2024-01-02", "2024-01-03", analytics.ByUTMMedium, "(none) 558/308/0, "},
		{"2024-01-01", "2024-01-03", analytics.ByUTMTerm, "(none) 862/442/0, "},
		{"2024-01-01", "2024-01-03", analytics.ByScreen, ""}, // Plausible does not export screens
		{"2024-02-02", "2024-02-02", analytics.ByCountry, "(none) 6/5/0, "},
		{"2024-02-01", "2024-02-02", analytics.ByCountry, "(none) 6/5/0, DE 4/3/0, "},
		{"2024-02-01", "2024-02-03", analytics.ByCountry, "(none) 6/5/0, DE 4/3/0, "},
		{"2024-02-01", "2024-02-01", analytics.ByPage, "(none) 4/0/0, "},
		{"2024-02-02", "2024-02-03", analytics.ByUTMMedium, "(none) 14/12/0, "},
		{"2024-02-01", "2024-02-03", analytics.ByUTMTerm, ""},
	} {
		for _, p := range []analytics.Period{analytics.Day, analytics.Month} {
			out := w.report(c.from, c.to, p, c.by)
			if got := rows(&out); got != c.want {
				t.Errorf("%s to %s by %s and %s: %q, want %q", c.from, c.to, p, c.by, got, c.want)
			}
		}
	}
}

// Google reports attention by day, and both report it by page: it counts once.
func TestEngagementIsCountedOnce(t *testing.T) {
	for name, c := range map[string]struct {
		csv  []string
		want float64
	}{
		"of days and pages": {[]string{"date,sessions,userEngagementDuration\n20240101,3,50\n20240201,3,60\n", "date,pagePath,userEngagementDuration\n20240101,/,40\n20240101,(not set),10\n20240201,/,60\n"}, 110},
		"of pages":          {[]string{"date,sessions\n20240101,3\n20240201,3\n", "date,pagePath,userEngagementDuration\n20240101,/,40\n20240101,(not set),10\n20240201,/,60\n"}, 110},
		"of days":           {[]string{"date,sessions,userEngagementDuration\n20240101,3,50\n20240201,3,60\n"}, 110},
		"of some days":      {[]string{"date,sessions,userEngagementDuration\n20240101,3,50\n20240103,3,\n", "date,pagePath,userEngagementDuration\n20240101,/,50\n20240103,/,60\n"}, 110},
	} {
		w := newSite(t, "UTC", "2024-04-05T12:00")
		for _, csv := range c.csv {
			_, err := w.csv(csv)
			w.Must(err)
		}
		for _, p := range []analytics.Period{analytics.Day, analytics.Month} {
			out := w.report("2024-01-01", "2024-02-29", p, analytics.ByPage)
			var pages, buckets float64
			for i := range out.Top {
				pages += out.Top[i].EngagedSeconds
			}
			for i := range out.Buckets {
				buckets += out.Buckets[i].EngagedSeconds
			}
			if out.Totals.EngagedSeconds != c.want || buckets != c.want || len(c.csv) > 1 && pages != c.want {
				t.Errorf("%s by %s: %v, by page %v, in buckets %v; want %v", name, p, out.Totals.EngagedSeconds, pages, buckets, c.want)
			}
		}
	}
}

// A table with a part of a month gives nothing for the other days, whether the question is by day
// or by month.
func TestPartsOfMonths(t *testing.T) {
	w := newSite(t, "UTC", "2024-04-05T12:00")
	for _, csv := range []string{
		"date,sessions\n20240101,1\n20240110,10\n20240120,20\n20240201,100\n",
		"date,country,sessions\n20240110,Germany,9\n20240201,Germany,100\n",
		"date,country,sessions\n20240120,(not set),20\n",
	} {
		_, err := w.csv(csv)
		w.Must(err)
	}
	const want = "DE 0/109/0, (none) 0/21/0, " // nothing is known of the 1st
	for _, in := range []struct {
		to string
		p  analytics.Period
	}{{"2024-02-01", analytics.Day}, {"2024-02-29", analytics.Day}, {"2024-02-29", analytics.Month}} {
		out := w.report("2024-01-01", in.to, in.p, analytics.ByCountry)
		if got := rows(&out); got != want {
			t.Errorf("until %s by %s: %q, want %q", in.to, in.p, got, want)
		}
	}
	w.Advance(800 * 24 * time.Hour) // days expire
	out := w.report("2024-01-01", "2024-02-29", analytics.Month, analytics.ByCountry)
	if got := rows(&out); got != want || out.Totals.Visits != 131 {
		t.Errorf("%q, want %q; %+v", got, want, out.Totals)
	}
}

// Imports made before measured dimensions were stored count as they did: a dimension of a month is
// known for all its days, and a day without any value is unknown. Importing the same files again
// adds what is missing.
func TestOlderImports(t *testing.T) {
	w := newSite(t, "UTC", "2024-04-05T12:00")
	again := func() {
		for _, csv := range []string{
			"date,sessions\n20240101,1\n20240110,10\n20240201,2\n20240301,3\n",
			"date,country,sessions\n20240110,Germany,9\n20240201,Germany,1\n20240301,(not set),3\n",
		} {
			_, err := w.csv(csv)
			w.Must(err)
		}
	}
	check := func(want string) {
		t.Helper()
		out := w.report("2024-01-01", "2024-03-31", analytics.Month, analytics.ByCountry)
		if got := rows(&out); got != want || out.Totals.Visits != 16 || out.Buckets[0].Visits != 11 {
			t.Errorf("%q, want %q; %+v", got, want, out)
		}
	}
	again()
	w.Must(imported.Days.Delete(w.Ctx, w.Table, imported.DayKey{SiteID: "site", Dimension: analytics.ByCountry, Day: "2024-03-01"}))
	for _, d := range []exports.Dimension{exports.Totals, analytics.ByCountry} {
		in := imported.MonthsIn{SiteID: "site", Dimension: d, From: "2024-01", To: "2024-04"}
		for m, err := range imported.MonthsByTime.All(w.Ctx, w.Table, in) {
			w.Must(err)
			if m.Days = 0; d == exports.Totals {
				m.Other, m.Values = m.Values.Sum(), nil
			}
			if d == analytics.ByCountry && m.Month == "2024-03" {
				w.Must(imported.Months.Delete(w.Ctx, w.Table, m.MonthKey))
				continue
			}
			w.Must(imported.Months.Put(w.Ctx, w.Table, &m))
		}
	}
	check("DE 0/10/0, (none) 0/3/0, ")
	again()
	check("DE 0/10/0, (none) 0/5/0, ")
}

// Importing again, in small parts, in another order and after a stop at any point, changes nothing.
func TestImportingTwiceCountsOnce(t *testing.T) {
	w := newSite(t, "UTC", "2024-02-05T12:00")
	first := w.bring(imported.Options{}, plausible)
	want := w.all("2024-01-01", "2024-01-31")
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for i := range 6 {
		ctx, stop := context.WithCancel(w.Ctx)
		left := random.IntN(4)
		_, err := w.try(ctx, imported.Options{}.InParts(1+random.Int64N(40), func(string) {
			if left--; left < 0 {
				stop()
			}
		}), plausible)
		stop()
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		again := w.bring(imported.Options{}.InParts(1+random.Int64N(40), func(string) {}), plausible)
		if again.ImportID != first.ImportID || again.PageViews != first.PageViews || again.Days != first.Days {
			t.Errorf("%+v, first %+v", again, first)
		}
		if got := w.all("2024-01-01", "2024-01-31"); got != want {
			t.Fatalf("time %d:\n%s\nwant\n%s", i, got, want)
		}
	}
}

// An interrupted import does not count, and can be deleted or done again.
func TestInterruptedImport(t *testing.T) {
	w := newSite(t, "UTC", "2024-02-05T12:00")
	empty := w.all("2024-01-01", "2024-01-31")
	ctx, stop := context.WithCancel(w.Ctx)
	defer stop()
	if _, err := w.try(ctx, imported.Options{}.InParts(1, func(string) { stop() }), plausible); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if got := w.all("2024-01-01", "2024-01-31"); got != empty {
		t.Errorf("it counts: %s", got)
	}
	all, err := imported.ImportsOfSite.Collect(w.Ctx, w.Table, imported.SiteIn{SiteID: "site"})
	if err != nil || len(all) != 1 || all[0].State != imported.Storing {
		t.Fatal(all, err)
	}
	w.Must(imported.Delete(w.Ctx, w.Table, all[0].ImportKey))
	w.leftNothing()
	if err := imported.Delete(w.Ctx, w.Table, all[0].ImportKey); !errors.Is(err, table.ErrNotFound) {
		t.Error(err)
	}
}

func (w *site) leftNothing() {
	w.Helper()
	for _, d := range append(slices.Clone(analytics.Dimensions), exports.Totals, exports.EventTotals, exports.PageTotals) {
		days, err := imported.DaysByTime.Collect(w.Ctx, w.Table, imported.DaysIn{SiteID: "site", Dimension: d})
		w.Must(err)
		months, err := imported.MonthsByTime.Collect(w.Ctx, w.Table, imported.MonthsIn{SiteID: "site", Dimension: d})
		w.Must(err)
		if len(days) != 0 || len(months) != 0 {
			w.Errorf("%d days and %d months are left by %s", len(days), len(months), d)
		}
	}
}

// A dry run reports what an import will do, and changes nothing.
func TestDryRun(t *testing.T) {
	w := newSite(t, "UTC", "2024-01-03T12:00")
	dry := w.bring(imported.Options{DryRun: true}, plausible)
	w.leftNothing()
	if all, err := imported.ImportsOfSite.Collect(w.Ctx, w.Table, imported.SiteIn{SiteID: "site"}); err != nil || len(all) != 0 {
		t.Fatal(all, err)
	}
	real := w.bring(imported.Options{}, plausible)
	if dry.Days != 2 || dry.Cut != 1 || dry.Until != "2024-01-03" || !dry.Dry {
		t.Errorf("%+v", dry)
	}
	dry.Dry = false
	if a, b := fmt.Sprintf("%+v", dry.Import), fmt.Sprintf("%+v", real.Import); a != b || dry.Days != real.Days || dry.Cut != real.Cut {
		t.Errorf("dry %s\nreal %s", a, b)
	}
}

// A site's own counts take precedence: imported days count only before the site's first own day,
// whichever came first.
func TestOwnCountsWin(t *testing.T) {
	w := newSite(t, "UTC", "2024-01-20T12:00")
	w.bring(imported.Options{}, plausible)
	w.view("/own", time.Date(2024, 1, 2, 10, 0, 0, 0, time.UTC))
	for _, period := range []analytics.Period{analytics.Day, analytics.Month} {
		out := w.report("2024-01-01", "2024-01-31", period, analytics.ByPage)
		if out.Totals.PageViews != 304+1 || out.Totals.Visitors != 119+1 || out.Imported.To != "2024-01-01" || rows(&out) != "/ 200/120/0, /docs 104/60/0, /own 1/1/0, " {
			t.Errorf("by %s: %+v %+v %s", period, out.Totals, out.Imported, rows(&out))
		}
		if c := w.report("2024-01-01", "2024-01-31", period, analytics.ByCountry); rows(&c) != "DE 201/85/0, FR 104/50/0, " {
			t.Errorf("by %s: %s", period, rows(&c))
		}
	}
	late := w.bring(imported.Options{DryRun: true}, plausible)
	if late.Cut != 2 || late.Until != "2024-01-02" || late.Days != 1 {
		t.Errorf("%+v", late)
	}
	found, err := reconcile.Verify(w.Ctx, w.Table, w.Worker, reconcile.RangeIn{Site: "site", From: "2024-01-01", To: "2024-01-10"}, nil)
	if err != nil || found.Count != 0 || found.Items == 0 {
		t.Errorf("verify: %+v, %v", found, err)
	}
	w.view("/own", time.Date(2023, 12, 1, 10, 0, 0, 0, time.UTC)) // then no imported day is before it
	if out := w.report("2023-12-01", "2024-01-31", analytics.Day, analytics.ByPage); out.Totals.PageViews != 2 || out.Imported != nil {
		t.Errorf("%+v", out.Totals)
	}
	if _, err := w.csv("date,sessions\n20240110,3\n"); !errors.Is(err, imported.ErrNothing) {
		t.Error(err)
	}
}

// Two imports never count the same day twice for a dimension, and can be deleted one by one.
func TestConcurrentImports(t *testing.T) {
	w := newSite(t, "UTC", "2024-02-05T12:00")
	w.bring(imported.Options{}, plausible+"/imported_visitors_20240101_20240103.csv")
	before := w.all("2024-01-01", "2024-01-31")
	second, err := w.csv("date,totalUsers,sessions,screenPageViews\n20240102,1000,1000,1000\n20240104,5,6,7\n")
	w.Must(err)
	if second.Held != 1 || second.Days != 1 || second.PageViews != 7 {
		t.Errorf("%+v", second)
	}
	third, err := w.csv("date,browser,sessions,screenPageViews\n20240102,Chrome,100,200\n")
	w.Must(err)
	out := w.report("2024-01-01", "2024-01-31", analytics.Month, analytics.ByBrowser)
	if out.Totals.PageViews != 862+7 || out.Totals.Visitors != 402+5 || rows(&out) != "Chrome 200/100/0, (none) 125/80/0, " { // of the 2nd alone
		t.Errorf("%+v %s", out.Totals, rows(&out))
	}
	if day := w.report("2024-01-02", "2024-01-02", analytics.Day, analytics.ByBrowser); rows(&day) != "Chrome 200/100/0, (none) 125/80/0, " {
		t.Error(rows(&day))
	}
	w.Must(imported.Delete(w.Ctx, w.Table, second.ImportKey))
	w.Must(imported.Delete(w.Ctx, w.Table, third.ImportKey))
	if got := w.all("2024-01-01", "2024-01-31"); got != before {
		t.Errorf("after deleting:\n%s\nwant\n%s", got, before)
	}
	all, err := imported.ImportsOfSite.Collect(w.Ctx, w.Table, imported.SiteIn{SiteID: "site"})
	w.Must(err)
	w.Must(imported.Delete(w.Ctx, w.Table, all[0].ImportKey))
	w.leftNothing()
}

// Imported days live as long as a site's days, starting at their import. Then only months are left.
func TestImportedDaysExpire(t *testing.T) {
	w := newSite(t, "UTC", "2024-02-05T12:00")
	w.bring(imported.Options{}, plausible)
	want := w.report("2024-01-01", "2024-01-31", analytics.Month, analytics.ByPage)
	w.Advance(800 * 24 * time.Hour)
	got := w.report("2024-01-01", "2024-01-31", analytics.Month, analytics.ByPage)
	if rows(&got) != rows(&want) || got.Totals.Figures != want.Totals.Figures {
		t.Errorf("%+v %s", got.Totals, rows(&got))
	}
	for _, in := range []report.Request{{From: "2024-01-01", To: "2024-01-31", Period: analytics.Day}, {From: "2024-01-02", To: "2024-02-28", Period: analytics.Month}} {
		in.Site = "site"
		if _, err := report.Make(w.Ctx, w.Table, in); !errors.Is(err, report.ErrExpired) {
			t.Errorf("%+v: %v", in, err)
		}
	}
}

// A date is a day in the site's time zone, even if it has 23 or 25 hours, or is over elsewhere.
func TestDaysOfTimeZones(t *testing.T) {
	for zone, until := range map[string]string{"Pacific/Kiritimati": "2024-10-28", "Pacific/Pago_Pago": "2024-10-26", "Europe/Berlin": "2024-10-27"} {
		w := newSite(t, zone, "2024-10-27T10:30") // in Berlin, this day has 25 hours
		r, err := w.csv("date,sessions\n20240331,23\n20241025,1\n20241026,2\n20241027,25\n20241028,4\n")
		w.Must(err)
		if r.Until != until {
			t.Errorf("%s: until %s, want %s", zone, r.Until, until)
		}
		out := w.report("2024-03-01", "2024-10-28", analytics.Day, analytics.ByPage)
		got := map[string]int64{}
		for _, b := range out.Buckets {
			if b.Visits != 0 {
				got[b.Start] = b.Visits
			}
		}
		want := map[string]int64{"2024-03-31": 23, "2024-10-25": 1, "2024-10-26": 2, "2024-10-27": 25}
		maps.DeleteFunc(want, func(day string, _ int64) bool { return day >= until })
		if !maps.Equal(got, want) {
			t.Errorf("%s: %v, want %v", zone, got, want)
		}
	}
}

// A day keeps its largest values and counts the others exactly.
func TestManyValues(t *testing.T) {
	w := newSite(t, "UTC", "2024-02-05T12:00")
	var b strings.Builder
	b.WriteString("date,pagePath,screenPageViews\n")
	var sum int64
	for i := range 3000 {
		fmt.Fprintf(&b, "2024-01-%02d,/%d,%d\n", 1+i%2, i, i+1)
		sum += int64(i + 1)
	}
	_, err := w.csv(b.String())
	w.Must(err)
	for _, period := range []analytics.Period{analytics.Day, analytics.Month} {
		out := w.report("2024-01-01", "2024-01-31", period, analytics.ByPage)
		var got int64
		for i := range out.Top {
			got += out.Top[i].PageViews
		}
		if got != sum || out.Top[1].Value != "/2999" {
			t.Errorf("by %s: %d of %d, %s", period, got, sum, out.Top[1].Value)
		}
	}
}

func TestImportsAreBounded(t *testing.T) {
	w := newSite(t, "UTC", "2024-02-05T12:00")
	if _, err := w.csv("date,sessions\n" + strings.Repeat("20240101,1000000000000\n", 1001)); !errors.Is(err, imported.ErrTooMuch) {
		t.Error(err)
	}
	for i := range imported.MaxImports { // including the failed one
		_, err := w.csv(fmt.Sprintf("date,sessions\n2023%02d%02d,1\n", 1+i/28, 1+i%28))
		if i == imported.MaxImports-1 {
			if !errors.Is(err, imported.ErrTooMuch) {
				t.Error(err)
			}
			continue
		}
		w.Must(err)
	}
}

// Personal data in exports is masked like that of events: in pages, referrers, links and campaigns,
// and in malformed rows that are shown. Values that become the same are added up.
func TestImportedCountsAreMasked(t *testing.T) {
	w := newSite(t, "UTC", "2024-02-05T12:00")
	_, err := analytics.UpdateSite(w.Ctx, w.Table, "site", func(s *analytics.Site) error {
		s.Mask.Paths = []string{"/people/:person/**"}
		return nil
	})
	w.Must(err)
	long := strings.Repeat("long/", 100)
	for _, c := range []struct {
		by   analytics.Dimension
		csv  string
		want string
	}{
		{analytics.ByPage, "date,visitors,pageviews,page\n2024-01-01,1,2,/user/jane@example.com\n2024-01-01,1,3,/user/john%40example.com\n2024-01-01,1,1,/people/jane/a\n2024-01-01,1,1,/" + long + "jane@example.com\n",
			"/user/:email 5/0/0, /" + long + ":email 1/0/0, /people/:person/a 1/0/0, "},
		{analytics.ByReferrer, "Date,Page referrer,Sessions\n2024-01-02,forum.example/people/jane,1\n2024-01-02,https://forum.example/u/jane@example.com,1\n",
			"forum.example/people/:person 0/1/0, forum.example/u/:email 0/1/0, "},
		{analytics.ByUTMCampaign, "Date,Session campaign,Sessions\n2024-01-03,jane@example.com,1\n", ":email 0/1/0, "},
	} {
		r, err := w.csv(c.csv)
		w.Must(err)
		out := w.report(r.From, r.To, analytics.Day, c.by)
		if got := rows(&out); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.by, got, c.want)
		}
	}
	r, err := w.csv("Date,Page path,Views\n2024-01-04,/user/jane@example.com,many\n2024-01-04,/,1\n")
	w.Must(err)
	if len(r.Shown) != 1 || strings.Contains(r.Shown[0], "jane") || !strings.Contains(r.Shown[0], ":email") {
		t.Errorf("shown: %q", r.Shown)
	}
}
