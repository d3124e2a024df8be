package webanalytics_test

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/internal/calendar"
	"github.com/onefold/onefold/internal/decimal"
	"github.com/onefold/onefold/internal/seeds"
	"github.com/onefold/onefold/server/servertest"
)

// timed is a table in memory with a clock that the test sets.
type timed struct {
	*engine.DB
	now time.Time
}

func (d *timed) Now() time.Time { return d.now }

// ledger reads the figures of one site over HTTP.
type ledger struct {
	*servertest.Server
	zone     calendar.Zone
	from, to string // days with traffic; the last is today
	db       *timed

	known   func(by, query string) sheet // the total of the days for which a dimension is known; nil: of all
	noHours bool                         // they have expired
}

// all is a filter that selects every visit.
const all = "&filter=country:is_not:nowhere"

// sheet has the parts of a response that must add up.
type sheet struct {
	PageViews, Visits, Events, Bounces, Seconds, Conversions, Visitors int64
	EngagedSeconds                                                     float64
	Revenue                                                            string
}

func (s sheet) plus(o *sheet) sheet {
	s.PageViews += o.PageViews
	s.Visits += o.Visits
	s.Events += o.Events
	s.Bounces += o.Bounces
	s.Seconds += o.Seconds
	s.Conversions += o.Conversions
	s.Visitors += o.Visitors
	s.EngagedSeconds = milli(s.EngagedSeconds + o.EngagedSeconds)
	s.Revenue = amount(decimal.Add(plainAmount(s.Revenue), plainAmount(o.Revenue)))
	return s
}

func milli(seconds float64) float64 { return math.Round(seconds*1000) / 1000 }

// plainAmount formats an amount like package decimal; responses write zero as 0 or omit it.
func plainAmount(s string) string {
	if s == "0" {
		return ""
	}
	return s
}

func amount(s string) string {
	if s == "" {
		return "0"
	}
	return s
}

// ofVisits returns the part of a sheet that a dimension of visits divides.
func (s sheet) ofVisits() sheet {
	return sheet{PageViews: s.PageViews, Visits: s.Visits, Bounces: s.Bounces, Seconds: s.Seconds, Revenue: amount(s.Revenue)}
}

type ledgerRow struct {
	sheet
	Value                string
	BounceRate, Duration float64
}

func (r *ledgerRow) complete() ledgerRow {
	r.Bounces = int64(math.Round(r.BounceRate * float64(r.Visits)))
	r.Seconds = int64(math.Round(r.Duration * float64(r.Visits)))
	r.Revenue = amount(r.Revenue)
	return *r
}

func (l *ledger) totals(query string) (total sheet, buckets []sheet) {
	l.Helper()
	a := get[struct {
		Totals  sheet
		Buckets []sheet
	}](l.Server, "/api/v1/sites/blog/stats?"+query)
	return a.Totals, a.Buckets
}

// rows returns all rows of a breakdown, including "(none)" and "(other)".
func (l *ledger) rows(by, query string) map[string]ledgerRow {
	l.Helper()
	rows := map[string]ledgerRow{}
	for {
		a := get[struct {
			Rows  []ledgerRow
			None  *ledgerRow
			Other *ledgerRow
			Total int
		}](l.Server, fmt.Sprintf("/api/v1/sites/blog/breakdown?by=%s&limit=1000&offset=%d&%s", by, len(rows), query))
		for i := range a.Rows {
			rows[a.Rows[i].Value] = a.Rows[i].complete()
		}
		if len(a.Rows) == 0 || len(rows) >= a.Total {
			if a.None != nil {
				rows[analytics.None] = a.None.complete()
			}
			if a.Other != nil {
				rows[analytics.Other] = a.Other.complete()
			}
			return rows
		}
	}
}

func sum(rows map[string]ledgerRow) (total sheet) {
	for _, r := range rows {
		total = total.plus(&r.sheet)
	}
	return total
}

// dimensionsOfVisits returns the dimensions of which a visit has one value.
func dimensionsOfVisits() (dimensions []string) {
	for _, d := range analytics.Dimensions {
		switch d {
		case analytics.ByPage, analytics.ByEventName, analytics.ByGoal, analytics.ByOutbound, analytics.ByDownload, analytics.ByNotFound:
		default:
			dimensions = append(dimensions, string(d))
		}
	}
	return dimensions
}

// addsUp checks every dimension against the totals of a query.
func (l *ledger) addsUp(query string) {
	l.Helper()
	total, _ := l.totals(query)
	of := func(by string) sheet {
		if l.known == nil {
			return total
		}
		return l.known(by, query)
	}
	for _, by := range dimensionsOfVisits() {
		want := of(by)
		if got := sum(l.rows(by, query)); got.ofVisits() != want.ofVisits() {
			l.Errorf("%s: %s adds up to %+v, the total is %+v", query, by, got.ofVisits(), want.ofVisits())
		}
	}
	l.eventsAddUp(query, total, of)
	l.bucketsAddUp(query, total)
}

// eventsAddUp checks the dimensions of which a visit has many values. Imported pages and events
// have no revenue, because exports do not attribute it.
func (l *ledger) eventsAddUp(query string, total sheet, of func(by string) sheet) {
	l.Helper()
	pages, events, goals := sum(l.rows("page", query)), sum(l.rows("event", query)), sum(l.rows("goal", query))
	if want := of("page"); pages.PageViews != want.PageViews || milli(pages.EngagedSeconds) != milli(want.EngagedSeconds) {
		l.Errorf("%s: pages add up to %+v, the total is %+v", query, pages, want)
	}
	if events.Events != total.Events || goals.Events != total.Conversions {
		l.Errorf("%s: events add up to %d of %d, goals to %d of %d", query, events.Events, total.Events, goals.Events, total.Conversions)
	}
	if got, want := pages.plus(&events).Revenue, of("revenue of pages and events").Revenue; amount(got) != amount(want) {
		l.Errorf("%s: revenue of pages and of events is %s, the total %s", query, got, want)
	}
	byName := l.rows("event", query)
	for by, name := range map[string]string{"outbound": "outbound", "download": "download", "not_found": "404"} {
		got, want := sum(l.rows(by, query)), byName[name]
		if got.Events != want.Events || amount(got.Revenue) != amount(want.Revenue) {
			l.Errorf("%s: %s adds up to %d events and %s, those named %s are %d and %s", query, by, got.Events, got.Revenue, name, want.Events, want.Revenue)
		}
	}
}

// bucketsAddUp checks that figures add up over time: visitors only over days.
func (l *ledger) bucketsAddUp(query string, total sheet) {
	l.Helper()
	for _, period := range []string{"hour", "day", "month"} {
		if l.noHours && period == "hour" {
			continue
		}
		of, buckets := l.totals(query + "&period=" + period)
		var got sheet
		for i := range buckets {
			got = got.plus(&buckets[i])
		}
		if period == "hour" {
			got.Visitors = of.Visitors
		}
		got.EngagedSeconds, of.EngagedSeconds = milli(got.EngagedSeconds), milli(of.EngagedSeconds)
		if got.Revenue = amount(got.Revenue); got != of {
			l.Errorf("%s: buckets by %s add up to %+v, their total is %+v", query, period, got, of)
		}
		if of.Revenue = amount(of.Revenue); period != "hour" && of.Visits != total.Visits {
			l.Errorf("%s: %d visits by %s, %d in all", query, of.Visits, period, total.Visits)
		}
	}
}

// agrees checks that a filter that selects everything changes no row, and that filtering by a value
// finds its row.
func (l *ledger) agrees(query string) {
	l.Helper()
	for _, d := range append(slices.Clone(analytics.Dimensions), "prop:plan") {
		by := string(d)
		plain, filtered := l.rows(by, query), l.rows(by, query+all)
		for value, want := range filtered {
			got := plain[value]
			got.Visitors, want.Visitors = 0, 0 // stored statistics do not have them
			if !slices.Contains(dimensionsOfVisits(), by) && by != "page" && by != "goal" {
				got.Visits, want.Visits = 0, 0
			}
			if got.EngagedSeconds = want.EngagedSeconds; got != want {
				l.Errorf("%s: by %s %q is %+v, with a filter that selects all %+v", query, by, value, got, want)
			}
		}
		if listed := l.rows(by, query+"&all=true"); !maps.Equal(listed, filtered) {
			l.Errorf("%s: by %s all values are %+v, with a filter that selects all %+v", query, by, listed, filtered)
		}
		if len(plain) != len(filtered) {
			l.Errorf("%s: by %s there are %d rows, with a filter that selects all %d", query, by, len(plain), len(filtered))
		}
		for value, want := range plain {
			l.finds(query, by, value, &want)
		}
	}
}

// finds checks that filtering by a value finds what the value's row counts.
func (l *ledger) finds(query, by, value string, want *ledgerRow) {
	l.Helper()
	escaped := strings.NewReplacer(`\`, `\\`, `|`, `\|`).Replace(value)
	filter := query + "&filter=" + url.QueryEscape(by+":is:"+escaped)
	got, _ := l.totals(filter)
	switch {
	case slices.Contains(dimensionsOfVisits(), by):
		if got.ofVisits() != want.ofVisits() {
			l.Errorf("%s: %+v, the row is %+v", filter, got.ofVisits(), want.ofVisits())
		}
	case by == "page", by == "goal":
		if got.Visits != want.Visits {
			l.Errorf("%s: %d visits, the row has %d", filter, got.Visits, want.Visits)
		}
		fallthrough
	default: // a visit is selected as a whole, so its row stays the same
		row := l.rows(by, filter)[value]
		if row.Events != want.Events || row.PageViews != want.PageViews || row.Revenue != want.Revenue {
			l.Errorf("%s: the row is %+v, it was %+v", filter, row, want)
		}
	}
}

// deeds returns what n visitors do between two times: visits over midnight, revenue on page views
// and events, events only, missing values.
func deeds(r *rand.Rand, n int, from, to time.Time) (hits []analytics.Hit) {
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	for visitor := range n {
		at := from.Add(time.Duration(r.Int64N(int64(to.Sub(from)))))
		if r.IntN(4) == 0 {
			at = at.Truncate(24 * time.Hour).Add(-5 * time.Minute)
		}
		h := analytics.Hit{
			Imported: true, Address: fmt.Sprintf("10.0.%d.%d", visitor/250%250, visitor%250), UserAgent: "test",
			Client: analytics.Client{Country: pick("", "DE", "FR"), Browser: pick("", "Firefox"), OS: pick("", "Linux"), Device: pick("", "phone"), Screen: pick("", "1x1"), Language: pick("", "de")},
		}
		h.Referrer = pick("", "https://www.google.com/", "https://news.example/a|b")
		query := pick("", "", "?utm_source=hn&utm_medium=social", "?utm_campaign=spring&utm_term=tea&utm_content=x")
		for range 1 + r.IntN(5) {
			if !at.Before(from) && at.Before(to) {
				hits = append(hits, deed(r, h, at, pick("", "https://example.com", "https://shop.example"), query))
			}
			at = at.Add(time.Duration(r.IntN(40*60)) * time.Second)
		}
	}
	return hits
}

func deed(r *rand.Rand, h analytics.Hit, at time.Time, host, query string) analytics.Hit {
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	h.At, h.URL = at, host+pick("/", "/a", "/b|c", "/blog/1")+query
	switch r.IntN(6) {
	case 0:
		h.Name = pick("signup", "order", "404")
	case 1:
		h.Name, h.Properties = pick("outbound", "download"), map[string]string{"url": pick("https://a.example/", "https://b.example/")}
	case 2:
		h.Name, h.EngagedMS, h.Scroll = analytics.EngagementEvent, r.Int64N(9000), r.IntN(101)
		return h
	}
	if r.IntN(3) == 0 {
		h.Revenue = pick("12.50", "-3", "0.01", "0")
	}
	if h.Properties == nil && r.IntN(2) == 0 {
		h.Properties = map[string]string{"plan": pick("free", "pro", "")}
	}
	return h
}

// newLedger serves a site with traffic on the given days, in a time zone. today is not over.
func newLedger(t *testing.T, zone, from, to string, change func(*analytics.Site)) *ledger {
	t.Helper()
	cal, err := calendar.LoadZone(zone)
	servertest.Must(t, err)
	end, err := cal.Start(calendar.ShiftDay(to, 1))
	servertest.Must(t, err)
	db := &timed{now: end.Add(-90 * time.Minute)}
	db.DB, err = engine.OpenMemory(engine.Options{Clock: db.Now})
	servertest.Must(t, err)
	t.Cleanup(func() { servertest.Must(t, db.Close()) })
	l := &ledger{Server: servertest.On(t, db, nil), zone: cal, from: from, to: to, db: db}
	l.Settings(func(s *analytics.Site) {
		s.TimeZone, s.CustomProperties = zone, []string{"plan"}
		if change != nil {
			change(s)
		}
	})
	for _, g := range []analytics.Goal{
		{GoalKey: analytics.GoalKey{SiteID: "blog", GoalID: "read"}, Name: "Read", Path: "/blog/**", Value: "0.50", Counting: analytics.OncePerSession},
		{GoalKey: analytics.GoalKey{SiteID: "blog", GoalID: "buy"}, Name: "Buy", Event: "order", Counting: analytics.EveryTime},
	} {
		servertest.Must(t, analytics.Goals.Create(t.Context(), l.Table, &g))
	}
	return l
}

func (l *ledger) ingest(hits []analytics.Hit) {
	l.Helper()
	for part := range slices.Chunk(hits, 500) {
		outcomes, err := l.Collector.Ingest(l.Context(), "blog", part)
		servertest.Must(l.T, err)
		for i := range outcomes {
			if outcomes[i].Status != analytics.Stored {
				l.Fatalf("%+v: %+v", part[i], outcomes[i])
			}
		}
	}
	servertest.Must(l.T, l.Worker.Drain(l.Context()))
}

func (l *ledger) bounds() (from, to time.Time) {
	l.Helper()
	from, err := l.zone.Start(l.from)
	servertest.Must(l.T, err)
	return from, l.Table.Now()
}

// TestEveryBreakdownAddsUp compares responses of the API with each other: rows and buckets add up
// to totals, and a filter selects what the row of its value counts.
func TestEveryBreakdownAddsUp(t *testing.T) {
	for _, zone := range []string{"UTC", "Europe/Berlin", "Australia/Lord_Howe"} {
		t.Run(strings.ReplaceAll(zone, "/", "_"), func(t *testing.T) {
			seeds.Run(t, 1, func(t *testing.T, seed uint64) { addsUpFor(t, zone, seed) })
		})
	}
}

func addsUpFor(t *testing.T, zone string, seed uint64) {
	l := newLedger(t, zone, "2026-03-28", "2026-04-05", nil) // the clock changes on the 29th in Berlin, on the 5th on Lord Howe
	from, to := l.bounds()
	l.ingest(deeds(rand.New(rand.NewPCG(seed, 1)), 120, from, to))
	whole := "from=" + l.from + "&to=" + l.to
	for _, days := range []string{whole, "from=" + l.to + "&to=" + l.to, "from=2026-03-29&to=2026-04-02"} {
		l.addsUp(days)
		l.addsUp(days + all)
		l.addsUp(days + "&filter=source:is:" + url.QueryEscape(analytics.None))
	}
	l.agrees(whole)
}

// Values beyond those that an hour keeps are listed if all are requested, as with a filter.
func TestAllValues(t *testing.T) {
	const pages = 1100
	l := newLedger(t, "UTC", "2026-04-01", "2026-04-01", nil)
	from, _ := l.bounds()
	var hits []analytics.Hit
	for i := range pages {
		hits = append(hits, analytics.Hit{
			Imported: true, Address: fmt.Sprint("10.0.0.", i%9), UserAgent: "test", At: from.Add(time.Duration(i) * time.Second), URL: fmt.Sprint("https://example.com/", i),
		})
	}
	l.ingest(hits)
	whole := "from=" + l.from + "&to=" + l.to
	kept, listed, filtered := l.rows("page", whole), l.rows("page", whole+"&all=true"), l.rows("page", whole+all)
	if _, left := kept[analytics.Other]; !left || len(kept) >= pages {
		t.Errorf("an hour keeps %d rows of %d", len(kept), pages)
	}
	if len(listed) != pages || !maps.Equal(listed, filtered) {
		t.Errorf("all values are %d rows, with a filter %d", len(listed), len(filtered))
	}
	if got, want := sum(listed), sum(kept); got.PageViews != want.PageViews {
		t.Errorf("all values have %d page views, those kept %d", got.PageViews, want.PageViews)
	}
}
