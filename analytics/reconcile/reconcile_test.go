package reconcile

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/internal/tally"
	"github.com/onefold/onefold/analytics/report"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/internal/calendar"
	"github.com/onefold/onefold/table"
)

func (w *shop) verify(from, to string) Differences {
	w.Helper()
	d, err := Verify(w.ctx, w.table, w.worker, RangeIn{w.site.SiteID, from, to}, nil)
	w.must(err)
	return d
}

func (w *shop) rebuild(from, to string) Differences {
	w.Helper()
	d, err := Rebuild(w.ctx, w.table, w.worker, RangeIn{w.site.SiteID, from, to}, nil)
	w.must(err)
	return d
}

func (w *shop) checkClean(from, to string) {
	w.Helper()
	if d := w.verify(from, to); d.Count != 0 || len(d.Busy) != 0 {
		w.Errorf("verify %s to %s: %d differences, busy %v: %+v", from, to, d.Count, d.Busy, d.List)
	}
}

// overwrite changes a stored item without the folds' knowledge, and leaves versions and marks as
// they are.
func overwrite[S any, K comparable](w *shop, e *table.Entity[S, K], key K, change func(*S)) {
	w.Helper()
	k, err := e.Key(key)
	w.must(err)
	out, err := w.db.GetItem(w.ctx, &dynamodb.GetItemInput{TableName: new("shop"), Key: k})
	w.must(err)
	var state S
	if out.Item == nil || table.IsRemoved(out.Item) {
		loaded, err := fold.Load(w.ctx, w.table, e, []K{key})
		w.must(err)
		state = loaded[0].State
	} else {
		w.must(e.DecodeInto(out.Item, &state))
	}
	change(&state)
	it, err := e.Encode(&state)
	w.must(err)
	for _, meta := range []string{fold.AttrVersion, fold.AttrMarks, table.AttrTTL} {
		if v, ok := out.Item[meta]; ok {
			it[meta] = v
		}
	}
	_, err = w.db.PutItem(w.ctx, &dynamodb.PutItemInput{TableName: new("shop"), Item: it})
	w.must(err)
}

func remove[S any, K comparable](w *shop, e *table.Entity[S, K], key K) {
	w.Helper()
	k, err := e.Key(key)
	w.must(err)
	_, err = w.db.DeleteItem(w.ctx, &dynamodb.DeleteItemInput{TableName: new("shop"), Key: k})
	w.must(err)
}

// overwriteVisitor changes a visitor's day. The folds after it see the change.
func overwriteVisitor(w *shop, key analytics.VisitorKey, change func(*analytics.Visitor)) {
	w.Helper()
	loaded, err := analytics.VisitLog.Load(w.ctx, w.table, []analytics.VisitorKey{key}, w.must)
	w.must(err)
	change(&loaded[0].State)
	w.replaceVisitor(fold.Replacement[analytics.Visitor, analytics.VisitorKey]{Key: key, Version: loaded[0].Version, State: &loaded[0].State})
}

func removeVisitor(w *shop, key analytics.VisitorKey) {
	w.Helper()
	loaded, err := analytics.VisitLog.Load(w.ctx, w.table, []analytics.VisitorKey{key}, w.must)
	w.must(err)
	w.replaceVisitor(fold.Replacement[analytics.Visitor, analytics.VisitorKey]{Key: key, Version: loaded[0].Version})
}

func (w *shop) replaceVisitor(r fold.Replacement[analytics.Visitor, analytics.VisitorKey]) {
	w.Helper()
	changed, err := analytics.VisitLog.Replace(w.ctx, w.table, []fold.Replacement[analytics.Visitor, analytics.VisitorKey]{r}, w.must)
	w.must(err)
	if len(changed) > 0 {
		w.Fatalf("%v has changed", changed)
	}
}

// items names one stored item of each kind. They belong to the first visit of a day, or to the
// first visit of a user if there is one.
type items struct {
	session   analytics.Session
	visitor   analytics.VisitorKey
	stats     analytics.StatsKey
	breakdown analytics.BreakdownKey
	day       string
}

func (w *shop) items(day string) items {
	w.Helper()
	from, to, err := w.cal.Bounds(day)
	w.must(err)
	s, err := analytics.UserSessionsByTime.First(w.ctx, w.table, analytics.UserSessionsIn{SiteID: w.site.SiteID, From: analytics.FirstID(from), To: analytics.FirstID(to)})
	if errors.Is(err, table.ErrNotFound) {
		var in analytics.SessionsIn
		in, err = analytics.SessionsBetween(&w.site, from, to)
		w.must(err)
		s, err = in.First(w.ctx, w.table)
	}
	w.must(err)
	hour := w.cal.Hour(time.UnixMilli(s.Start))
	return items{
		s, analytics.VisitorKey{SiteID: s.SiteID, Shard: s.VisitorShard, VisitorID: s.VisitorID, Day: s.Day}, analytics.StatsKey{SiteID: s.SiteID, Period: analytics.Hour, Start: hour, Shard: s.VisitorShard},
		analytics.BreakdownKey{SiteID: s.SiteID, Period: analytics.Hour, Dimension: analytics.ByBrowser, Start: hour, Shard: s.VisitorShard}, day,
	}
}

// vitals returns the vitals breakdown of the first hour of a day that has one, or otherwise that of
// the day's first visit.
func (w *shop) vitals(i items) analytics.BreakdownKey {
	w.Helper()
	hours, err := w.cal.Hours(i.day)
	w.must(err)
	key := analytics.BreakdownKey{SiteID: w.site.SiteID, Period: analytics.Hour, Dimension: "vitals:device"}
	for _, key.Start = range hours {
		_, err := analytics.Breakdowns.Get(w.ctx, w.table, key)
		if err == nil {
			return key
		}
		if !errors.Is(err, table.ErrNotFound) {
			w.Fatal(err)
		}
	}
	key.Start = i.stats.Start
	return key
}

// spoiled is a way to make a derived item wrong, with what verify must report.
type spoiled struct {
	spoil  func(*shop, items)
	entity string
	kind   DifferenceKind
}

func ways() map[string]spoiled {
	return map[string]spoiled{
		"wrong statistics": {func(w *shop, i items) {
			overwrite(w, analytics.StatsItems, i.stats, func(s *analytics.Stats) { s.PageViews += 7 })
		}, "analytics.stats", Wrong},
		"wrong sketch": {func(w *shop, i items) {
			overwrite(w, analytics.StatsItems, i.stats, func(s *analytics.Stats) { s.Active.Add(42) })
		}, "analytics.stats", Wrong},
		"missing statistics": {func(w *shop, i items) { remove(w, analytics.StatsItems, i.stats) }, "analytics.stats", Missing},
		"extra statistics": {func(w *shop, i items) {
			hours, err := w.cal.Hours(i.day)
			w.must(err)
			for _, h := range hours {
				if _, err := analytics.StatsItems.Get(w.ctx, w.table, analytics.StatsKey{SiteID: w.site.SiteID, Period: analytics.Hour, Start: h}); errors.Is(err, table.ErrNotFound) {
					overwrite(w, analytics.StatsItems, analytics.StatsKey{SiteID: w.site.SiteID, Period: analytics.Hour, Start: h}, func(s *analytics.Stats) { s.PageViews, s.Day = 1, i.day })
					return
				}
			}
			w.Fatal("no hour is empty")
		}, "analytics.stats", Extra},
		"wrong breakdown": {func(w *shop, i items) {
			overwrite(w, analytics.Breakdowns, i.breakdown, func(b *analytics.Breakdown) { b.Values.Add("Netscape", tally.Count{PageViews: 1}) })
		}, "analytics.breakdown", Wrong},
		"missing breakdown": {func(w *shop, i items) { remove(w, analytics.Breakdowns, i.breakdown) }, "analytics.breakdown", Missing},
		"wrong visitor": {func(w *shop, i items) {
			overwriteVisitor(w, i.visitor, func(v *analytics.Visitor) {
				for i := range v.Visits { // none if something else removed them before
					v.Visits[i].Hours[0].Views += 3
				}
			})
		}, "analytics.visitor", Wrong},
		"missing visitor": {func(w *shop, i items) { removeVisitor(w, i.visitor) }, "analytics.visitor", Missing},
		"extra visitor": {func(w *shop, i items) {
			visitor := i.visitor
			visitor.VisitorID = "nobody"
			overwriteVisitor(w, visitor, func(v *analytics.Visitor) {
				at := time.UnixMilli(i.session.Start)
				e := analytics.Event{EventKey: analytics.EventKey{EventID: analytics.FirstID(at)}, ZoneMinutes: w.cal.Minutes(at), Path: "/nowhere"}
				day, err := new(analytics.Replay).Add(&e)
				w.must(err)
				v.Visits, v.Arrivals = day.Visits, day.Arrivals
			})
		}, "analytics.visitor", Extra},
		"wrong session": {func(w *shop, i items) {
			overwrite(w, analytics.Sessions, i.session.SessionKey, func(s *analytics.Session) { *s = i.session; s.ExitPath = "/elsewhere" }) // may be the first item: only those of users have one
		}, "analytics.session", Wrong},
		"missing session": {func(w *shop, i items) { remove(w, analytics.Sessions, i.session.SessionKey) }, "analytics.session", Missing},
		"extra session": {func(w *shop, i items) {
			key := analytics.SessionKey{SiteID: i.session.SiteID, SessionID: analytics.FirstID(time.UnixMilli(i.session.Start))}
			overwrite(w, analytics.Sessions, key, func(s *analytics.Session) { *s = i.session; s.SessionKey = key })
		}, "analytics.session", Extra},
		"wrong day": {func(w *shop, i items) {
			overwrite(w, analytics.StatsItems, analytics.StatsKey{SiteID: w.site.SiteID, Period: analytics.Day, Start: i.day}, func(s *analytics.Stats) { s.Visits-- })
		}, "analytics.stats", Wrong},
		"missing day": {func(w *shop, i items) {
			remove(w, analytics.StatsItems, analytics.StatsKey{SiteID: w.site.SiteID, Period: analytics.Day, Start: i.day})
		}, "analytics.stats", Missing},
		"wrong breakdown of a day": {func(w *shop, i items) {
			overwrite(w, analytics.Breakdowns, analytics.BreakdownKey{SiteID: w.site.SiteID, Period: analytics.Day, Dimension: analytics.ByPage, Start: i.day}, func(b *analytics.Breakdown) { b.Other.PageViews++ })
		}, "analytics.breakdown", Wrong},
		"wrong month": {func(w *shop, i items) {
			overwrite(w, analytics.StatsItems, analytics.StatsKey{SiteID: w.site.SiteID, Period: analytics.Month, Start: calendar.MonthOf(i.day)}, func(s *analytics.Stats) { s.Seconds++ })
		}, "analytics.stats", Wrong},
		"wrong vitals": {func(w *shop, i items) {
			overwrite(w, analytics.Breakdowns, w.vitals(i), func(b *analytics.Breakdown) { b.Values = tally.Values{"phone": {Events: 1}} })
		}, "analytics.breakdown", Wrong},
		"missing vitals of a day": {func(w *shop, i items) {
			remove(w, analytics.Breakdowns, analytics.BreakdownKey{SiteID: w.site.SiteID, Period: analytics.Day, Dimension: "vitals:device", Start: i.day})
		}, "analytics.breakdown", Missing},
		"missing breakdown of a month": {func(w *shop, i items) {
			remove(w, analytics.Breakdowns, analytics.BreakdownKey{SiteID: w.site.SiteID, Period: analytics.Month, Dimension: analytics.ByPage, Start: calendar.MonthOf(i.day)})
		}, "analytics.breakdown", Missing},
	}
}

func TestVerifyFindsAndRebuildRepairs(t *testing.T) {
	for name, tc := range ways() {
		t.Run(name, func(t *testing.T) {
			w := newShop(t, "Europe/Berlin", utc("2026-04-03T12:00"))
			w.ingest(shopTraffic(rand.New(rand.NewPCG(5, 6)), utc("2026-03-30T22:00"), utc("2026-04-02T22:00"), 60)...)
			w.drain()
			w.rollUp()
			w.checkClean("2026-03-31", "2026-04-02")
			tc.spoil(w, w.items("2026-04-01"))
			found := w.verify("2026-03-31", "2026-04-02")
			is := func(d Difference) bool { return d.Entity == tc.entity && d.Kind == tc.kind }
			if found.Count == 0 || !slices.ContainsFunc(found.List, is) {
				t.Errorf("verify found %d differences: %+v", found.Count, found.List)
			}
			repaired := w.rebuild("2026-03-31", "2026-04-02")
			if repaired.Repaired == 0 || repaired.Repaired != repaired.Count || len(repaired.Busy) > 0 {
				t.Errorf("rebuild repaired %d of %d, busy %v: %+v", repaired.Repaired, repaired.Count, repaired.Busy, repaired.List)
			}
			w.checkMended("2026-03-31", "2026-04-02")
		})
	}
}

func (w *shop) checkMended(from, to string) {
	w.Helper()
	w.drain()
	w.rollUp()
	w.checkClean(from, to)
	w.checkReports(from, to)
	w.checkSums(from, to)
}

// Several things are wrong at once, some as a consequence of others, and one rebuild repairs them.
func TestRebuildRepairsManyItems(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 10))
	w := newShop(t, "Asia/Kathmandu", utc("2026-04-05T12:00"))
	w.ingest(shopTraffic(random, utc("2026-03-29T18:15"), utc("2026-04-03T18:15"), 150)...)
	w.drain()
	w.rollUp()
	all := ways()
	names := slices.Sorted(maps.Keys(all))
	for range 4 {
		for range 5 {
			name, day := names[random.IntN(len(names))], calendar.ShiftDay("2026-03-30", random.IntN(5))
			t.Logf("%s on %s", name, day)
			all[name].spoil(w, w.items(day))
			if random.IntN(2) == 0 {
				w.drain()
			}
			if random.IntN(4) == 0 {
				w.rollUp()
			}
		}
		w.rebuild("2026-03-30", "2026-04-03")
		w.checkMended("2026-03-30", "2026-04-03")
	}
}

// Dimensions with more values than a breakdown holds still add up in every tier, and are verified
// and rebuilt.
func TestFullBreakdowns(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 11))
	w := newShop(t, "UTC", utc("2026-04-05T12:00"))
	hits := shopTraffic(random, utc("2026-04-01T08:00"), utc("2026-04-01T10:00"), 3*tally.MaxValues)
	for i := range hits {
		hits[i].Path = fmt.Sprintf("/p/%d", random.IntN(2*tally.MaxValues))
	}
	for chunk := range slices.Chunk(hits, tally.MaxValues/2) {
		w.ingest(chunk...)
		w.drain()
	}
	w.rollUp()
	check := func() {
		t.Helper()
		out := w.report(report.Request{From: "2026-04-01", To: "2026-04-30"})
		var sum, other int64
		for _, row := range out.Top {
			sum += row.PageViews
			if row.Value == analytics.Other {
				other = row.PageViews
			}
		}
		if sum != out.Totals.PageViews || other == 0 || len(out.Top) > tally.MaxValues+2 {
			t.Errorf("%d rows add up to %d, of which %d others; totals %+v", len(out.Top), sum, other, out.Totals.Figures)
		}
		w.checkClean("2026-04-01", "2026-04-01")
	}
	check()
	for _, start := range []string{"2026-04-01T08:00:00Z", "2026-04-01T09:00:00Z"} {
		overwrite(w, analytics.Breakdowns, analytics.BreakdownKey{SiteID: "shop", Period: analytics.Hour, Dimension: analytics.ByPage, Start: start}, func(b *analytics.Breakdown) { b.Other.PageViews++ })
	}
	if d := w.rebuild("2026-04-01", "2026-04-01"); d.Repaired < 2 {
		t.Errorf("rebuild repaired %d", d.Repaired)
	}
	w.drain()
	w.rollUp()
	check()
}

// While events are written and folded, rebuild repairs what is not being written, and damages
// nothing that is.
func TestRebuildDuringWrites(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 7))
	w := newShop(t, "UTC", utc("2026-04-02T12:00"))
	from, to := utc("2026-04-01T00:00"), utc("2026-04-02T00:00")
	w.ingest(shopTraffic(random, from, to, 300)...)
	w.drain()
	ctx, stop := context.WithCancel(w.ctx)
	folded := make(chan error, 1)
	go func() { folded <- w.worker.Run(ctx) }()
	written := w.write(rand.New(rand.NewPCG(seed, 8)), from.Add(6*time.Hour), to)
	for writing := true; writing; {
		select {
		case err := <-written:
			w.must(err)
			writing = false
		default:
		}
		i := w.items("2026-04-01")
		overwrite(w, analytics.StatsItems, i.stats, func(s *analytics.Stats) { s.PageViews += 100 })
		remove(w, analytics.Breakdowns, i.breakdown)
		overwriteVisitor(w, i.visitor, func(v *analytics.Visitor) { v.Visits = v.Visits[:1]; v.Visits[0].End += 1000 })
		d := w.rebuild("2026-04-01", "2026-04-01")
		t.Logf("rebuild repaired %d of %d, %d busy", d.Repaired, d.Count, len(d.Busy))
	}
	stop()
	w.must(<-folded)
	w.advance(time.Minute)                // an interrupted read is tried again after a while
	w.rebuild("2026-04-01", "2026-04-01") // what was busy
	w.drain()
	w.checkClean("2026-04-01", "2026-04-01")
	w.checkReports("2026-04-01", "2026-04-01")
	w.rollUp()
	w.checkClean("2026-04-01", "2026-04-01")
	w.checkReports("2026-04-01", "2026-04-01")
}

// write ingests a few events at a time and sends on the channel when it is done.
func (w *shop) write(random *rand.Rand, from, to time.Time) <-chan error {
	done := make(chan error, 1)
	go func() {
		c := analytics.NewCollector(w.table, analytics.CollectorOptions{})
		for hits := range slices.Chunk(shopTraffic(random, from, to, 4000), 2) {
			w.advance(10 * time.Millisecond) // so that a fence is passed although there is always more to read
			if _, err := c.Ingest(w.ctx, w.site.SiteID, hits); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	return done
}

// Events in progress are not differences: verify while events are written finds nothing wrong.
func TestVerifyDuringWrites(t *testing.T) {
	w := newShop(t, "UTC", utc("2026-04-02T12:00"))
	from, to := utc("2026-04-01T00:00"), utc("2026-04-02T00:00")
	w.ingest(shopTraffic(rand.New(rand.NewPCG(1, 1)), from, to, 200)...)
	written := w.write(rand.New(rand.NewPCG(2, 2)), from, to)
	for writing := true; writing; {
		select {
		case err := <-written:
			w.must(err)
			writing = false
		default:
		}
		if d := w.verify("2026-04-01", "2026-04-01"); d.Count != 0 {
			t.Errorf("%d differences: %+v", d.Count, d.List)
		}
	}
	w.checkClean("2026-04-01", "2026-04-01")
}

// TestSealedDaysAreLeftOut verifies and rebuilds a range whose first day has no raw events anymore.
func TestSealedDaysAreLeftOut(t *testing.T) {
	w := newShop(t, "UTC", utc("2026-04-02T12:00"))
	random := rand.New(rand.NewPCG(1, 1))
	w.ingest(shopTraffic(random, utc("2026-04-01T00:00"), utc("2026-04-02T00:00"), 50)...)
	w.drain()
	w.rollUp()
	w.advance(35 * 24 * time.Hour)
	w.ingest(shopTraffic(random, utc("2026-05-06T00:00"), utc("2026-05-07T00:00"), 50)...)
	w.drain()
	w.rollUp()
	for _, work := range []func(context.Context, *table.Table, Folded, RangeIn, func(Progress)) (Differences, error){Verify, Rebuild} {
		found, err := work(w.ctx, w.table, w.worker, RangeIn{"shop", "2026-04-01", "2026-05-07"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if found.Count != 0 || found.Days != 36 || found.SealedDays != 1 || len(found.Sealed) != 1 || found.Sealed[0] != "2026-04-01" {
			t.Errorf("found %+v, want 36 days compared, no difference, and 2026-04-01 left out", found)
		}
	}
}

func TestSealedDayIsRejected(t *testing.T) {
	w := newShop(t, "UTC", utc("2026-04-02T12:00"))
	w.ingest(shopTraffic(rand.New(rand.NewPCG(1, 1)), utc("2026-04-01T00:00"), utc("2026-04-02T00:00"), 50)...)
	w.drain()
	w.rollUp()
	before := w.report(report.Request{From: "2026-04-01", To: "2026-04-01"})
	w.advance(35 * 24 * time.Hour)
	in := RangeIn{"shop", "2026-04-01", "2026-04-01"}
	if _, err := Verify(w.ctx, w.table, w.worker, in, nil); !errors.Is(err, analytics.ErrSealed) {
		t.Errorf("verify: %v", err)
	}
	_, err := Rebuild(w.ctx, w.table, w.worker, in, nil)
	if !errors.Is(err, analytics.ErrSealed) {
		t.Errorf("rebuild: %v", err)
	}
	t.Log(err)
	if err := AggregateHourly(w.ctx, w.table, w.worker, "shop", utc("2026-04-01T10:00")); !errors.Is(err, analytics.ErrSealed) {
		t.Errorf("aggregate hourly: %v", err)
	}
	if after := w.report(report.Request{From: "2026-04-01", To: "2026-04-01"}); after.Totals.Figures != before.Totals.Figures {
		t.Errorf("%+v became %+v", before.Totals, after.Totals)
	}
}

// A day whose events have expired stays sealed if the site keeps later events for longer.
func TestLongerRetentionOpensNoDay(t *testing.T) {
	w := newShop(t, "UTC", utc("2026-04-02T12:00"))
	keep := func(r analytics.Retention) {
		_, err := analytics.UpdateSite(w.ctx, w.table, "shop", func(s *analytics.Site) error { s.Retention = r; return nil })
		w.must(err)
		w.advance(time.Minute)
	}
	keep(analytics.Retention{RawDays: 5, HourDays: 7, DayDays: 38})
	w.ingest(shopTraffic(rand.New(rand.NewPCG(1, 1)), utc("2026-04-01T00:00"), utc("2026-04-02T00:00"), 50)...)
	w.drain()
	w.rollUp()
	before := w.report(report.Request{From: "2026-04-01", To: "2026-04-01"})
	w.advance(10 * 24 * time.Hour)
	keep(analytics.Retention{})
	in := RangeIn{"shop", "2026-04-01", "2026-04-01"}
	if _, err := Rebuild(w.ctx, w.table, w.worker, in, nil); !errors.Is(err, analytics.ErrSealed) {
		t.Errorf("rebuild: %v", err)
	}
	if err := AggregateHourly(w.ctx, w.table, w.worker, "shop", utc("2026-04-01T10:00")); !errors.Is(err, analytics.ErrSealed) {
		t.Errorf("aggregate hourly: %v", err)
	}
	if err := AggregateDaily(w.ctx, w.table, "shop", utc("2026-04-01T10:00")); !errors.Is(err, analytics.ErrSealed) {
		t.Errorf("aggregate daily: %v", err)
	}
	w.rollUp()
	if after := w.report(report.Request{From: "2026-04-01", To: "2026-04-01"}); after.Totals.Figures != before.Totals.Figures {
		t.Errorf("%+v became %+v", before.Totals, after.Totals)
	}
	outcomes, err := analytics.NewCollector(w.table, analytics.CollectorOptions{}).Ingest(w.ctx, "shop", []analytics.Hit{{At: utc("2026-04-01T10:00"), Path: "/late", Address: "10.0.0.1", UserAgent: "test"}})
	w.must(err)
	if outcomes[0].Reason != analytics.TooOld {
		t.Errorf("a late event for the day: %+v", outcomes[0])
	}
}

func TestAggregateHourlyRepairsOneHour(t *testing.T) {
	w := newShop(t, "UTC", utc("2026-04-02T12:00"))
	w.ingest(shopTraffic(rand.New(rand.NewPCG(1, 1)), utc("2026-04-01T00:00"), utc("2026-04-02T00:00"), 80)...)
	w.drain()
	i := w.items("2026-04-01")
	overwrite(w, analytics.StatsItems, i.stats, func(s *analytics.Stats) { s.PageViews, s.Bounces = 0, 99 })
	remove(w, analytics.Breakdowns, i.breakdown)
	hour, err := time.Parse(calendar.HourLayout, i.stats.Start)
	w.must(err)
	w.must(AggregateHourly(w.ctx, w.table, w.worker, "shop", hour.Add(20*time.Minute)))
	w.must(AggregateDaily(w.ctx, w.table, "shop", hour))
	w.must(AggregateMonthly(w.ctx, w.table, "shop", hour))
	w.checkReports("2026-04-01", "2026-04-01")
	w.checkSums("2026-04-01", "2026-04-01")
	w.checkClean("2026-04-01", "2026-04-01")
}

// A stopped job continues after the last day it finished, and keeps what it has found.
func TestReconcileResumes(t *testing.T) {
	w := newShop(t, "UTC", utc("2026-04-10T12:00"))
	w.ingest(shopTraffic(rand.New(rand.NewPCG(1, 1)), utc("2026-04-01T00:00"), utc("2026-04-07T00:00"), 120)...)
	w.drain()
	w.rollUp()
	overwrite(w, analytics.StatsItems, w.items("2026-04-02").stats, func(s *analytics.Stats) { s.PageViews++ })
	in := RangeIn{"shop", "2026-04-01", "2026-04-06"}
	ctx, cancel := context.WithCancel(w.ctx)
	_, err := Verify(ctx, w.table, w.worker, in, func(p Progress) {
		if p.Done == 3 {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v", err)
	}
	var days []string
	found, err := Verify(w.ctx, w.table, w.worker, in, func(p Progress) {
		if p.Done > 0 && p.Events > 0 && (len(days) == 0 || days[len(days)-1] != p.Day) {
			days = append(days, p.Day)
		}
	})
	w.must(err)
	if found.Days != 6 || found.Count == 0 {
		t.Errorf("found %+v", found)
	}
	if len(days) != 6 {
		t.Errorf("progress named %v", days)
	}
	if _, err := Jobs.Get(w.ctx, w.table, JobKey{analytics.FoldGroup, Verifying, "shop", in.From, in.To}); !errors.Is(err, table.ErrNotFound) {
		t.Errorf("the job is still there: %v", err)
	}
}

func TestReconcileRejectsRanges(t *testing.T) {
	w := newShop(t, "UTC", utc("2026-04-10T12:00"))
	for _, in := range []RangeIn{{"shop", "", "2026-04-01"}, {"shop", "2026-04-02", "2026-04-01"}, {"shop", "1.4.2026", "2026-04-02"}} {
		if _, err := Verify(w.ctx, w.table, w.worker, in, nil); !errors.Is(err, ErrRange) {
			t.Errorf("%+v: %v", in, err)
		}
	}
	if _, err := Verify(w.ctx, w.table, w.worker, RangeIn{"nobody", "2026-04-01", "2026-04-01"}, nil); !errors.Is(err, table.ErrNotFound) {
		t.Errorf("unknown site: %v", err)
	}
}

// A breakdown that was ever full is compared only by what must hold regardless of the order of
// events.
func TestFitsBreakdown(t *testing.T) {
	want := &analytics.Breakdown{Values: tally.Values{"a": {PageViews: 3}, "b": {PageViews: 2}, "c": {PageViews: 1}}}
	for name, tc := range map[string]struct {
		stored analytics.Breakdown
		fits   bool
	}{
		"same":               {analytics.Breakdown{Values: tally.Values{"a": {PageViews: 3}, "b": {PageViews: 2}, "c": {PageViews: 1}}}, true},
		"one is missing":     {analytics.Breakdown{Values: tally.Values{"a": {PageViews: 3}, "b": {PageViews: 2}}}, false},
		"a rest":             {analytics.Breakdown{Values: tally.Values{"a": {PageViews: 3}}, Other: tally.Count{PageViews: 3}, Full: true}, true},
		"a rest, never full": {analytics.Breakdown{Values: tally.Values{"a": {PageViews: 3}}, Other: tally.Count{PageViews: 3}}, false},
		"a short rest":       {analytics.Breakdown{Values: tally.Values{"a": {PageViews: 3}}, Other: tally.Count{PageViews: 2}, Full: true}, false},
		"a divided value":    {analytics.Breakdown{Values: tally.Values{"a": {PageViews: 2}}, Other: tally.Count{PageViews: 4}, Full: true}, false},
		"a place without":    {analytics.Breakdown{Values: tally.Values{"a": {PageViews: 3}, "z": {}}, Other: tally.Count{PageViews: 3}, Full: true}, true},
	} {
		if got := matchesBreakdown(&tc.stored, want); got != tc.fits {
			t.Errorf("%s: fits is %v", name, got)
		}
	}
}
