package reconcile

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/internal/tally"
	"github.com/onefold/onefold/analytics/report"
	"github.com/onefold/onefold/internal/calendar"
)

func utc(text string) time.Time {
	at, err := time.Parse("2006-01-02T15:04", text)
	if err != nil {
		panic(err)
	}
	return at
}

// checkReports compares reports by hour, day and month, and every list of top values, with a
// recount.
func (w *shop) checkReports(from, to string) {
	w.Helper()
	want := w.recount(from, to)
	for _, period := range []analytics.Period{analytics.Hour, analytics.Day, analytics.Month} {
		got := w.report(report.Request{From: from, To: to, Period: period})
		total := got.Totals.Figures
		total.Revenue = ""
		if total != want.total {
			w.Errorf("%s to %s by %s: totals are %+v, recounted %+v", from, to, period, total, want.total)
		}
		w.checkBuckets(got, want)
	}
	for _, by := range []analytics.Dimension{analytics.ByPage, analytics.ByEventName, analytics.ByCountry, analytics.ByBrowser, analytics.BySource, analytics.ByChannel} {
		got := make(map[string]tally.Count)
		for _, row := range w.report(report.Request{From: from, To: to, By: by}).Top {
			got[row.Value] = tally.Count{PageViews: row.PageViews, Visits: row.Visits, Events: row.Events}
		}
		if top := want.top(by); !reflect.DeepEqual(got, top) {
			w.Errorf("%s to %s by %s: top is %v, recounted %v", from, to, by, got, top)
		}
	}
}

func (w *shop) checkBuckets(got report.Report, want *recount) {
	w.Helper()
	known := want.days
	if got.Period == analytics.Hour {
		known = want.hours
	}
	sum := report.Figures{}
	found := 0
	for _, b := range got.Buckets {
		f := b.Figures
		f.Revenue = ""
		sum.PageViews += f.PageViews
		sum.Visits += f.Visits
		sum.Events += f.Events
		if got.Period == analytics.Month {
			continue
		}
		expected := report.Figures{}
		if known[b.Start] != nil {
			expected = *known[b.Start]
			found++
		}
		if f != expected {
			w.Errorf("%s %s is %+v, recounted %+v", got.Period, b.Start, f, expected)
		}
	}
	if got.Period != analytics.Month && found != len(known) {
		w.Errorf("by %s: %d of %d recounted buckets are there", got.Period, found, len(known))
	}
	if sum.PageViews != got.Totals.PageViews || sum.Visits != got.Totals.Visits || sum.Events != got.Totals.Events {
		w.Errorf("by %s: buckets add up to %+v, totals are %+v", got.Period, sum, got.Totals)
	}
}

// Hours, rolled-up days and months, and any mixture of them give the same answers, in any time
// zone.
func TestReportAgreesWithRecount(t *testing.T) {
	for _, tc := range []struct{ zone, from, to string }{
		{"UTC", "2026-02-26", "2026-03-04"},
		{"Europe/Berlin", "2026-03-27", "2026-04-02"},       // the 29th has 23 hours
		{"Europe/Berlin", "2026-10-23", "2026-11-01"},       // the 25th has 25 hours
		{"Asia/Kolkata", "2026-05-30", "2026-06-02"},        // hours start at half past in UTC
		{"Australia/Lord_Howe", "2026-04-04", "2026-04-06"}, // the clock goes back by half an hour
		{"America/St_Johns", "2026-10-31", "2026-11-02"},
	} {
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
			hits := shopTraffic(random, start, end.Add(-2*time.Hour), 400)
			w.ingest(hits[:300]...)
			w.drain()
			w.checkReports(tc.from, tc.to)
			w.rollUp()
			w.checkReports(tc.from, tc.to)
			w.ingest(hits[300:]...) // late events, on days that are rolled up
			w.drain()
			w.checkReports(tc.from, tc.to)
			w.rollUp()
			w.checkReports(tc.from, tc.to)
			w.advance(26 * time.Hour) // all days are over
			w.checkReports(tc.from, tc.to)
			w.rollUp()
			w.checkReports(tc.from, tc.to)
			w.checkReports(calendar.ShiftDay(tc.from, 1), calendar.ShiftDay(tc.to, -1))
			w.checkReports(calendar.MonthOf(tc.from)+"-01", "2026-12-31") // whole months, and empty ones
			w.checkSums(tc.from, tc.to)
		})
	}
}

// checkSums compares the stored tiers: hours add up to their day, and days to their month. With
// what is counted under None, every dimension except pages adds up to the totals.
func (w *shop) checkSums(from, to string) {
	w.Helper()
	ctx := context.Background()
	months := make(map[string]*analytics.Stats)
	for _, day := range calendar.Days(from, to) {
		hoursFrom, hoursTo, err := w.cal.HourRange(day, day)
		w.must(err)
		hours, err := analytics.StatsByTime.Collect(ctx, w.table, analytics.StatsIn{SiteID: w.site.SiteID, Period: analytics.Hour, From: hoursFrom, To: hoursTo})
		w.must(err)
		sum := &analytics.Stats{}
		for i := range hours {
			sum.Add(&hours[i])
		}
		stored, err := analytics.StatsItems.Get(ctx, w.table, analytics.StatsKey{SiteID: w.site.SiteID, Period: analytics.Day, Start: day})
		w.must(err)
		if !stored.Same(sum) {
			w.Errorf("day %s is %+v, its hours add up to %+v", day, stored, sum)
		}
		month := calendar.MonthOf(day)
		if months[month] == nil {
			months[month] = &analytics.Stats{}
		}
		months[month].Add(&stored)
	}
	for month, sum := range months {
		stored, err := analytics.StatsItems.Get(ctx, w.table, analytics.StatsKey{SiteID: w.site.SiteID, Period: analytics.Month, Start: month})
		w.must(err)
		if !stored.Same(sum) {
			w.Errorf("month %s is %+v, its days add up to %+v", month, stored, sum)
		}
	}
	total := w.report(report.Request{From: from, To: to}).Totals
	for _, d := range w.site.Dimensions() {
		var sum tally.Count
		engaged := 0.0
		for _, row := range w.report(report.Request{From: from, To: to, By: d}).Top {
			sum = sum.Plus(tally.Count{PageViews: row.PageViews, Visits: row.Visits, Events: row.Events, Revenue: row.Revenue})
			engaged += row.EngagedSeconds
		}
		bad := false
		switch d {
		case analytics.ByEventName:
			bad = sum.Events != total.Events
		case analytics.ByGoal:
			bad = sum.Events != total.Conversions
		case analytics.ByOutbound, analytics.ByDownload, analytics.ByNotFound, analytics.ByProperty("plan"):
			bad = sum.Events > total.Events || sum.PageViews > total.PageViews
		case analytics.ByPage:
			bad = sum.PageViews != total.PageViews || math.Abs(engaged-total.EngagedSeconds) > 0.001
		default:
			bad = sum.PageViews != total.PageViews || sum.Visits != total.Visits
		}
		if bad {
			w.Errorf("by %s: values add up to %+v, totals are %+v", d, sum, total.Figures)
		}
	}
}

// The cost of a report depends on its range, not on the amount of traffic.
func TestReportCostsTheSameWhateverTheTraffic(t *testing.T) {
	costs := make(map[int]map[analytics.Period]report.Cost)
	counts := []int{150, 1500}
	for _, n := range counts {
		w := newShopOf(t, 1, "UTC", utc("2026-03-10T15:00"))
		random := rand.New(rand.NewPCG(1, 2))
		w.ingest(shopTraffic(random, utc("2026-02-20T00:00"), utc("2026-03-10T15:00"), n)...)
		w.drain()
		w.rollUp()
		w.ingest(shopTraffic(random, utc("2026-02-25T00:00"), utc("2026-02-26T00:00"), n/10)...) // one late day
		w.drain()
		costs[n] = make(map[analytics.Period]report.Cost)
		for _, p := range []analytics.Period{analytics.Hour, analytics.Day, analytics.Month} {
			out := w.report(report.Request{From: "2026-02-20", To: "2026-03-10", Period: p})
			costs[n][p] = out.Cost
			if views := out.Totals.PageViews; views < int64(n/2) {
				t.Errorf("%d page views of %d hits", views, n)
			}
		}
	}
	for _, p := range []analytics.Period{analytics.Hour, analytics.Day, analytics.Month} {
		few, many := costs[counts[0]][p], costs[counts[1]][p]
		t.Logf("by %s: %d hits cost %+v, %d cost %+v", p, counts[0], few, counts[1], many)
		if few.Requests != many.Requests || many.Requests > 11 {
			t.Errorf("by %s: %d hits take %d requests, %d take %d", p, counts[0], few.Requests, counts[1], many.Requests)
		}
		if many.ReadUnits > 4*few.ReadUnits {
			t.Errorf("by %s: %d hits take %.1f read units, %d take %.1f", p, counts[0], few.ReadUnits, counts[1], many.ReadUnits)
		}
	}
}

func TestReportJSON(t *testing.T) {
	w := newShop(t, "Europe/Berlin", utc("2026-05-12T18:00"))
	w.ingest(
		analytics.Hit{At: utc("2026-05-12T10:00"), Imported: true, Address: "1", Path: "/a"},
		analytics.Hit{At: utc("2026-05-12T10:10"), Imported: true, Address: "1", Path: "/b"},
		analytics.Hit{At: utc("2026-05-12T11:00"), Imported: true, Address: "2", Path: "/a"},
		analytics.Hit{At: utc("2026-05-12T11:01"), Imported: true, Address: "3", Name: "order", Revenue: "12.50"},
	)
	w.drain()
	got, err := json.Marshal(w.report(report.Request{From: "2026-05-11", To: "2026-05-12", Period: analytics.Day, Limit: 10}))
	w.must(err)
	want := `{"site":"shop","from":"2026-05-11","to":"2026-05-12","period":"day","timezone":"Europe/Berlin",` +
		`"totals":{"pageViews":3,"visits":3,"visitors":3,"events":1,"bounces":1,"seconds":600,"revenue":"12.5","conversions":1,"engagedSeconds":0,"bounceRate":0.3333333333333333},` +
		`"buckets":[{"start":"2026-05-11","pageViews":0,"visits":0,"visitors":0,"events":0,"bounces":0,"seconds":0,"revenue":"0","conversions":0,"engagedSeconds":0},` +
		`{"start":"2026-05-12","pageViews":3,"visits":3,"visitors":3,"events":1,"bounces":1,"seconds":600,"revenue":"12.5","conversions":1,"engagedSeconds":0}],` +
		`"top":[{"value":"/a","pageViews":2,"visits":2},{"value":"/b","pageViews":1,"visits":1}]}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestReportErrors(t *testing.T) {
	w := newShop(t, "UTC", utc("2026-05-12T18:00"))
	for name, in := range map[string]report.Request{
		"from after to":    {From: "2026-05-12", To: "2026-05-11"},
		"malformed from":   {From: "12.5.2026", To: "2026-05-11"},
		"malformed to":     {From: "2026-05-12", To: ""},
		"unknown period":   {From: "2026-05-12", To: "2026-05-12", Period: "week"},
		"unknown by":       {From: "2026-05-12", To: "2026-05-12", By: "colour"},
		"too long by hour": {From: "2024-05-12", To: "2026-05-12", Period: analytics.Hour},
		"too long":         {From: "2006-05-12", To: "2026-05-12", Period: analytics.Month},
	} {
		in.Site = "shop"
		if _, err := report.Make(context.Background(), w.table, in); !errors.Is(err, report.ErrInvalid) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// Expired data is rejected, not shown as zero. What is left of it in coarser tiers is shown.
func TestReportOfExpiredTiers(t *testing.T) {
	ctx := context.Background()
	w := newShop(t, "UTC", utc("2026-01-20T00:00"))
	w.ingest(shopTraffic(rand.New(rand.NewPCG(3, 4)), utc("2026-01-05T00:00"), utc("2026-01-15T00:00"), 200)...)
	w.drain()
	w.rollUp()
	want := w.report(report.Request{From: "2026-01-01", To: "2026-01-31", Period: analytics.Day, By: analytics.ByCountry})
	wantMonth := w.report(report.Request{From: "2026-01-01", To: "2026-01-31", Period: analytics.Month, By: analytics.ByCountry})

	w.advance(120 * 24 * time.Hour) // hours have expired
	if _, err := report.Make(ctx, w.table, report.Request{Site: "shop", From: "2026-01-01", To: "2026-01-31", Period: analytics.Hour}); !errors.Is(err, report.ErrExpired) {
		t.Errorf("by hour: error %v", err)
	}
	if got := w.report(report.Request{From: "2026-01-01", To: "2026-01-31", Period: analytics.Day, By: analytics.ByCountry}); got.Totals.PageViews != want.Totals.PageViews || !reflect.DeepEqual(got.Top, want.Top) {
		t.Errorf("by day: %+v, before %+v", got, want)
	}
	w.advance(800 * 24 * time.Hour) // days have expired
	for _, in := range []report.Request{{From: "2026-01-01", To: "2026-01-31", Period: analytics.Day}, {From: "2026-01-07", To: "2026-02-28", Period: analytics.Month}} {
		in.Site = "shop"
		if _, err := report.Make(ctx, w.table, in); !errors.Is(err, report.ErrExpired) {
			t.Errorf("%s to %s by %s: error %v", in.From, in.To, in.Period, err)
		}
	}
	if got := w.report(report.Request{From: "2026-01-01", To: "2026-01-31", Period: analytics.Month, By: analytics.ByCountry}); !reflect.DeepEqual(got.Buckets, wantMonth.Buckets) || !reflect.DeepEqual(got.Top, wantMonth.Top) {
		t.Errorf("by month: %+v, before %+v", got, wantMonth)
	}
}

// Attention makes no visit and no visitor. It does not lengthen a visit, does not split one into
// two, and does not turn a bounce into a longer visit.
func TestEngagementIsNoVisit(t *testing.T) {
	noon := utc("2026-05-12T12:00")
	w := newShop(t, "Europe/Berlin", noon.Add(2*time.Hour))
	attention := func(at time.Time, address, path string, ms int64, scroll int) analytics.Hit {
		return analytics.Hit{At: at, Name: analytics.EngagementEvent, Path: path, Address: address, Engagement: analytics.Engagement{EngagedMS: ms, Scroll: scroll}}
	}
	w.ingest(
		analytics.Hit{At: noon, Path: "/a", Address: "1"},
		attention(noon.Add(25*time.Minute), "1", "/a", 1500, 40),
		attention(noon.Add(26*time.Minute), "1", "/a", 500, 30),
		analytics.Hit{At: noon.Add(50 * time.Minute), Path: "/b", Address: "1"}, // another visit
		attention(noon.Add(55*time.Minute), "1", "/b", 250, 100),
		attention(noon, "2", "/a", 1000, 80), // by a visitor who was here before midnight
		analytics.Hit{At: noon.Add(time.Minute), Name: analytics.VitalsEvent, Path: "/a", Address: "3", Vitals: analytics.Vitals{LCP: 1200}},
	)
	w.drain()
	got := w.report(report.Request{From: "2026-05-12", To: "2026-05-12"})
	want := report.Figures{PageViews: 2, Visits: 2, Visitors: 1, Bounces: 2, Revenue: "0", EngagedSeconds: 3.25}
	if got.Totals.Figures != want {
		t.Errorf("got %+v, want %+v", got.Totals.Figures, want)
	}
	rows := map[string]string{}
	for _, r := range got.Top {
		rows[r.Value] = fmt.Sprint(r.PageViews, " ", r.EngagedSeconds, " ", *r.ScrollDepth)
	}
	if rows["/a"] != "1 3 40" || rows["/b"] != "1 0.25 100" {
		t.Errorf("%v", rows)
	}
}
