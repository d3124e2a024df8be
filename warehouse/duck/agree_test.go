//go:build duckdb && cgo

package duck

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/report"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/fold/foldtest"
	"github.com/onefold/onefold/internal/calendar"
	"github.com/onefold/onefold/internal/traffic"
	"github.com/onefold/onefold/table"
)

// shop is a site whose traffic went through the folds and was written to files.
type shop struct {
	*foldtest.World
	site  analytics.Site
	files []string
}

// newShop generates traffic, and adds the hits of a few people with unusual behavior. They use
// their own session IDs, more of them than a day lists, and they come just before and after
// midnight, and exactly half an hour after the last time, to the millisecond.
func newShop(t *testing.T, zone, from, to string, seed uint64) *shop {
	t.Helper()
	cal, err := calendar.LoadZone(zone)
	if err != nil {
		t.Fatal(err)
	}
	start, err := cal.Start(from)
	if err != nil {
		t.Fatal(err)
	}
	end, err := cal.Start(calendar.ShiftDay(to, 1))
	if err != nil {
		t.Fatal(err)
	}
	s := &shop{World: foldtest.NewWorld(t, foldtest.Setup{
		Name: "shop", Schema: analytics.Schema, Group: analytics.FoldGroup, At: end.Add(time.Hour),
		Folds: func(*table.Table) []*fold.Fold { return analytics.Folds(analytics.Config{}) },
	})}
	s.site, err = analytics.CreateSite(s.Ctx, s.Table, analytics.NewSite{ID: "shop", TimeZone: zone, Settings: analytics.Settings{CustomProperties: []string{"plan"}}})
	s.Must(err)
	for _, g := range []analytics.Goal{
		{GoalKey: analytics.GoalKey{SiteID: "shop", GoalID: "deep"}, Name: "Deep", Path: "/blog/**", Value: "0.50", Counting: analytics.OncePerSession},
		{GoalKey: analytics.GoalKey{SiteID: "shop", GoalID: "buy"}, Name: "Buy", Event: "purchase", Counting: analytics.EveryTime},
	} {
		s.Must(analytics.Goals.Create(s.Ctx, s.Table, &g))
	}
	collector := analytics.NewCollector(s.Table, analytics.CollectorOptions{})
	for hits := range slices.Chunk(append(generated(t, start, end, seed), odd(rand.New(rand.NewPCG(seed, 1)), start, end)...), 1000) {
		outcomes, err := collector.Ingest(s.Ctx, "shop", hits)
		s.Must(err)
		for i, o := range outcomes {
			if o.Status != analytics.Stored {
				t.Fatalf("%+v: %+v", hits[i], o)
			}
		}
	}
	s.Must(s.Worker.Drain(s.Ctx))
	events, err := analytics.EventsBetween(&s.site, start, end, "").Collect(s.Ctx, s.Table)
	s.Must(err)
	s.files = writeEvents(t, t.TempDir(), events)
	return s
}

func generated(t *testing.T, start, end time.Time, seed uint64) (hits []analytics.Hit) {
	g, err := traffic.New(traffic.Options{Kind: traffic.Shop, Seed: seed, Start: start.UTC(), Days: int(end.Sub(start)/(24*time.Hour)) + 1, VisitsPerDay: 60, Engagement: true})
	if err != nil {
		t.Fatal(err)
	}
	for e := range g.Events() {
		if !e.At.Before(end) {
			break
		}
		h := analytics.Hit{
			At: e.At, Imported: true, Name: e.Name, URL: "https://example.com" + e.Path + "?" + strings.TrimPrefix(e.Query, "?"), Referrer: e.Referrer, UserAgent: e.UserAgent, Address: e.VisitorIP,
			Client: analytics.Client{Country: e.Country, Language: e.Language, Screen: e.Screen}, Properties: e.Properties,
			Engagement: analytics.Engagement{EngagedMS: e.EngagedMS, Scroll: e.Scroll},
		}
		if e.RevenueCents != 0 {
			h.Revenue = fmt.Sprintf("%d.%02d", e.RevenueCents/100, e.RevenueCents%100)
		}
		hits = append(hits, h)
	}
	return hits
}

func odd(random *rand.Rand, start, end time.Time) (hits []analytics.Hit) {
	pick := func(of ...string) string { return of[random.IntN(len(of))] }
	for range 250 {
		visitor := random.IntN(12)
		at := start.Add(time.Duration(random.Int64N(int64(end.Sub(start)/time.Millisecond))) * time.Millisecond)
		for range 1 + random.IntN(5) {
			if !at.Before(end) {
				break
			}
			h := analytics.Hit{
				At: at, Imported: true, Address: fmt.Sprint("odd-", visitor), UserAgent: "odd", Path: pick("/", "/a'b", "/blog/x", "/blog/y/z", "/ü"),
				Client: analytics.Client{Country: pick("", "DE", "FR"), Browser: pick("Firefox", "Chrome"), OS: pick("", "Linux"), Device: pick("desktop", "mobile")}, Properties: map[string]string{"plan": pick("free", "pro"), `a "b'`: "c\x00d"},
			}
			if visitor%2 == 0 {
				h.SessionID = fmt.Sprintf("own-%02d", random.IntN(90))
			}
			if random.IntN(3) == 0 {
				h.Name, h.Revenue = pick("signup", "purchase", analytics.EngagementEvent), pick("", "1.25", "-0.000001", "999999999999.5")
			}
			if visitor == 3 {
				h.UserID = pick("u1", "u2")
			}
			hits = append(hits, h)
			at = at.Add([]time.Duration{30 * time.Minute, 30*time.Minute - time.Millisecond, time.Millisecond, 0, 7 * time.Minute, 11 * time.Hour}[random.IntN(6)])
		}
	}
	return hits
}

var places = []struct{ zone, from, to string }{
	{"UTC", "2026-02-26", "2026-03-02"},
	{"Europe/Berlin", "2026-10-24", "2026-10-26"}, // the 25th has 25 hours
	{"Asia/Kolkata", "2026-05-30", "2026-06-01"},  // half an hour off UTC's hours
}

// SQL on the files gives exactly the same figures as the statistics: by day, in total, and by each
// dimension.
func TestSQLAgreesWithStatistics(t *testing.T) {
	for _, place := range places {
		t.Run(strings.ReplaceAll(place.zone, "/", "_"), func(t *testing.T) {
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			s := newShop(t, place.zone, place.from, place.to, seed)
			db := openTest(t, Options{Events: s.files})
			for _, period := range []analytics.Period{analytics.Hour, analytics.Day, analytics.Month} {
				want, err := report.Make(s.Ctx, s.Table, report.Request{Site: "shop", From: place.from, To: place.to, Period: period})
				s.Must(err)
				compare(t, string(period), ask(t, db, figuresBy[period]), figuresOf(want.Buckets))
			}
			for by, query := range breakdowns() {
				want, err := report.Make(s.Ctx, s.Table, report.Request{Site: "shop", From: place.from, To: place.to, By: by})
				s.Must(err)
				compare(t, string(by), ask(t, db, query), rowsOf(by, want.Top))
			}
		})
	}
}

// Requested days are complete, although they lie in files of other days, and no other days are
// included.
func TestDaysAreTheSites(t *testing.T) {
	s := newShop(t, "Asia/Kolkata", "2026-05-30", "2026-06-01", 7)
	want, err := report.Make(s.Ctx, s.Table, report.Request{Site: "shop", From: "2026-05-31", To: "2026-05-31"})
	s.Must(err)
	db := openTest(t, Options{Events: s.files, From: "2026-05-31", To: "2026-05-31"})
	compare(t, "day", ask(t, db, figuresBy[analytics.Day]), figuresOf(want.Buckets))
}

// figuresBy has the queries for the figures of report buckets. Visits count in the bucket in which
// they start, page views and events in the bucket in which they happen. The visitors of an hour are
// those with an event in it.
var figuresBy = map[analytics.Period]string{
	analytics.Day:   figures("CAST(day AS VARCHAR)", "count(DISTINCT visitor_day)", "0"),
	analytics.Month: figures("strftime(day, '%Y-%m')", "count(DISTINCT visitor_day)", "0"),
	analytics.Hour: figures(`strftime(date_trunc('hour', local_time) - to_minutes(zone_minutes), '%Y-%m-%dT%H:%M:%SZ')`, "0",
		"count(DISTINCT (visitor_id, visitor_shard, day)) FILTER (name NOT IN ('engagement', 'vitals'))"),
}

func figures(bucket, visitors, active string) string {
	return fmt.Sprintf(`WITH v AS (
  SELECT %[1]s AS bucket, %[2]s AS visitors, count(*) AS visits, count(*) FILTER (bounced) AS bounces, sum(seconds) AS seconds
  FROM (SELECT *, local_start AS local_time, zone_minutes FROM sessions JOIN (SELECT event_id, zone_minutes FROM events) ON event_id = session_id)
  GROUP BY ALL
), c AS (
  SELECT site, session_id, sum(conversions) AS conversions FROM conversions GROUP BY ALL
), k AS (
  SELECT %[1]s AS bucket, sum(conversions) AS conversions
  FROM (SELECT *, local_start AS local_time FROM sessions JOIN (SELECT event_id, zone_minutes FROM events) ON event_id = session_id) JOIN c USING (session_id)
  GROUP BY ALL
), e AS (
  SELECT %[1]s AS bucket, count(*) FILTER (kind = 'pageview') AS pageviews, count(*) FILTER (kind = 'event' AND name NOT IN ('engagement', 'vitals')) AS events,
    coalesce(sum(revenue), 0) AS revenue, coalesce(sum(engaged_ms), 0) AS engaged, %[3]s AS active
  FROM events GROUP BY ALL
)
SELECT bucket, coalesce(visitors, 0) + active, coalesce(visits, 0), coalesce(bounces, 0), coalesce(seconds, 0), pageviews, events, revenue, coalesce(conversions, 0), engaged
FROM e LEFT JOIN v USING (bucket) LEFT JOIN k USING (bucket) ORDER BY bucket`, bucket, visitors, active)
}

func figuresOf(buckets []report.Bucket) (rows []string) {
	for _, b := range buckets {
		if b.PageViews+b.Events+b.Visits == 0 && b.Revenue == "0" && b.EngagedSeconds == 0 {
			continue
		}
		rows = append(rows, fmt.Sprint(b.Start, "|", b.Visitors, "|", b.Visits, "|", b.Bounces, "|", b.Seconds, "|", b.PageViews, "|", b.Events, "|",
			sixPlaces(b.Revenue), "|", b.Conversions, "|", int64(b.EngagedSeconds*1000+0.5)))
	}
	return rows
}

// sixPlaces formats an amount as DECIMAL(38,6) does.
func sixPlaces(amount string) string {
	whole, fraction, _ := strings.Cut(amount, ".")
	return whole + "." + (fraction + "000000")[:6]
}

// breakdowns returns the queries for the figures of dimension values in reports: page views, visits
// and events. For dimensions of a visit, these also include bounces, and the seconds of all visits
// in tenths of a second per visit.
func breakdowns() map[analytics.Dimension]string {
	all := map[analytics.Dimension]string{
		analytics.ByPage:      `SELECT path, count(*), count(DISTINCT (site, day, visitor_id, visitor_shard, visit)), 0 FROM session_events WHERE kind = 'pageview' GROUP BY path ORDER BY ALL`,
		analytics.ByEventName: `SELECT name, 0, 0, count(*) FROM session_events WHERE kind = 'event' GROUP BY name ORDER BY ALL`,
		analytics.ByGoal:      `SELECT goal, 0, count(*) FILTER (conversions > 0), sum(conversions) FROM conversions GROUP BY goal ORDER BY ALL`,
		"prop:plan":           `SELECT properties->>'plan' AS plan, count(*) FILTER (kind = 'pageview'), 0, count(*) FILTER (kind = 'event' AND name NOT IN ('engagement', 'vitals')) FROM events WHERE plan <> '' GROUP BY plan HAVING count(*) FILTER (name NOT IN ('engagement', 'vitals')) > 0 ORDER BY ALL`,
	}
	for by, column := range map[analytics.Dimension]string{
		analytics.ByEntryPage: "entry_page", analytics.ByExitPage: "exit_page", analytics.ByCountry: "country", analytics.ByBrowser: "browser", analytics.ByOS: "os",
		analytics.ByDevice: "device", analytics.BySource: "source", analytics.ByChannel: "channel", analytics.ByReferrer: "referrer", analytics.ByUTMCampaign: "utm_campaign",
		analytics.ByUTMSource: "utm_source", analytics.ByHostname: "hostname", analytics.ByLanguage: "language", analytics.ByScreen: "screen",
	} {
		all[by] = fmt.Sprintf(`SELECT %[1]s, sum(pageviews), count(*), 0, CAST(count(*) FILTER (bounced) AS DOUBLE) / count(*), CAST(sum(seconds) AS DOUBLE) / count(*)
			FROM sessions WHERE %[1]s <> '' GROUP BY 1 ORDER BY 1`, column)
	}
	return all
}

func rowsOf(by analytics.Dimension, top []report.Row) (rows []string) {
	for _, r := range top {
		if r.Value == analytics.None || r.PageViews+r.Visits+r.Events == 0 {
			continue
		}
		text := fmt.Sprint(r.Value, "|", r.PageViews, "|", r.Visits, "|", r.Events)
		switch by {
		case analytics.ByPage, analytics.ByEventName, analytics.ByGoal, "prop:plan":
		default:
			text += fmt.Sprint("|", floatText(*r.BounceRate), "|", floatText(*r.Duration))
		}
		rows = append(rows, text)
	}
	slices.Sort(rows)
	return rows
}

// floatText formats a number as DuckDB does.
func floatText(f float64) string {
	text := strconv.FormatFloat(f, 'g', -1, 64)
	if !strings.ContainsAny(text, ".e") {
		text += ".0"
	}
	return text
}

func compare(t *testing.T, what string, got, want []string) {
	t.Helper()
	slices.Sort(got)
	got = slices.DeleteFunc(got, func(row string) bool { return strings.HasSuffix(row, "|0|0|0|0|0|0|0.000000|0|0") }) // like figuresOf
	only := func(a, b []string) string {
		return strings.Join(slices.DeleteFunc(slices.Clone(a), func(row string) bool { return slices.Contains(b, row) }), "\n")
	}
	if !slices.Equal(got, want) || len(want) == 0 {
		t.Errorf("by %s SQL says in %d rows\n%s\nand statistics in %d\n%s", what, len(got), only(got, want), len(want), only(want, got))
	}
}
