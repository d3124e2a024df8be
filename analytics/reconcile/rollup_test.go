package reconcile

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/report"
	"github.com/onefold/onefold/table"
)

func (w *shop) waitingDays() []string {
	w.Helper()
	var days []string
	for m, err := range analytics.DaysToRollUp.All(w.ctx, w.table, analytics.DaysIn{SiteID: w.site.SiteID}) {
		w.must(err)
		days = append(days, m.Day)
	}
	return days
}

func TestRollUpClosedDaysOnly(t *testing.T) {
	w := newShop(t, "America/New_York", utc("2026-03-03T12:00"))
	w.ingest(shopTraffic(rand.New(rand.NewPCG(1, 1)), utc("2026-02-27T05:00"), utc("2026-03-03T05:00"), 100)...)
	w.ingest(analytics.Hit{At: utc("2026-03-03T11:00"), Address: "1", Path: "/"})
	w.drain()
	rolled := w.rollUp()
	if !slices.Equal(rolled.Days, []string{"2026-02-27", "2026-02-28", "2026-03-01", "2026-03-02"}) ||
		!slices.Equal(rolled.Months, []string{"2026-02", "2026-03"}) || !slices.Equal(rolled.Open, []string{"2026-03-03"}) {
		t.Errorf("rolled up %+v", rolled)
	}
	if waiting := w.waitingDays(); !slices.Equal(waiting, []string{"2026-03-03"}) {
		t.Errorf("%v wait", waiting)
	}
	w.advance(24 * time.Hour) // in New York, the day is over
	if rolled := w.rollUp(); !slices.Equal(rolled.Days, []string{"2026-03-03"}) || len(rolled.Open) > 0 {
		t.Errorf("rolled up %+v", rolled)
	}
	if rolled := w.rollUp(); len(rolled.Days) > 0 {
		t.Errorf("rolled up again: %+v", rolled)
	}
	w.checkSums("2026-02-27", "2026-03-03")
}

// A rollup that finds nothing new writes nothing.
func TestRollUpIsIdempotent(t *testing.T) {
	w := newShop(t, "UTC", utc("2026-03-03T12:00"))
	w.ingest(shopTraffic(rand.New(rand.NewPCG(1, 1)), utc("2026-03-01T00:00"), utc("2026-03-02T00:00"), 100)...)
	w.drain()
	w.rollUp()
	r, err := newRoller(w.ctx, w.table, "shop", w.now())
	w.must(err)
	day, err := r.ofDay("2026-03-01")
	w.must(err)
	for _, b := range []rolling{day, r.ofMonth("2026-03")} {
		changes, final, err := r.changes(w.ctx, b)
		w.must(err)
		if final || len(changes) > 0 {
			t.Errorf("%s %s: final %v, %d changes", b.period, b.start, final, len(changes))
		}
	}
}

// A late event marks its day, and the report is correct before and after the day is rolled up
// again.
func TestLateEventMarksItsDay(t *testing.T) {
	w := newShop(t, "UTC", utc("2026-03-10T12:00"))
	w.ingest(shopTraffic(rand.New(rand.NewPCG(1, 1)), utc("2026-02-20T00:00"), utc("2026-03-10T00:00"), 100)...)
	w.drain()
	w.rollUp()
	w.ingest(analytics.Hit{At: utc("2026-02-27T10:00"), Imported: true, Address: "late", Path: "/late"})
	w.drain()
	if waiting := w.waitingDays(); !slices.Equal(waiting, []string{"2026-02-27"}) {
		t.Errorf("%v wait", waiting)
	}
	w.checkReports("2026-02-01", "2026-03-10")
	if rolled := w.rollUp(); !slices.Equal(rolled.Days, []string{"2026-02-27"}) || !slices.Equal(rolled.Months, []string{"2026-02"}) {
		t.Errorf("rolled up %+v", rolled)
	}
	w.checkReports("2026-02-01", "2026-03-10")
}

// Rollups may run in several places at once while late events arrive.
func TestConcurrentRollUps(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 9))
	w := newShop(t, "UTC", utc("2026-03-10T12:00"))
	from, to := utc("2026-02-26T00:00"), utc("2026-03-04T00:00")
	w.ingest(shopTraffic(random, from, to, 200)...)
	w.drain()
	hits := shopTraffic(random, from, to, 300)
	var g errgroup.Group
	for range 3 {
		g.Go(func() error {
			for range 6 {
				if _, err := RollUp(w.ctx, w.table, "shop", w.now()); err != nil {
					return err
				}
			}
			return nil
		})
	}
	for chunk := range slices.Chunk(hits, 50) {
		w.ingest(chunk...)
		w.drain()
	}
	w.must(g.Wait())
	w.drain()
	w.rollUp()
	if waiting := w.waitingDays(); len(waiting) > 0 {
		t.Errorf("%v wait", waiting)
	}
	w.checkSums("2026-02-26", "2026-03-03")
	w.checkReports("2026-02-26", "2026-03-03")
	w.checkClean("2026-02-26", "2026-03-03")
}

// Once hours may have expired, a day is final: later events do not reduce it.
func TestSealedDayDoesNotShrink(t *testing.T) {
	w := newShop(t, "UTC", utc("2026-03-02T12:00"))
	w.ingest(shopTraffic(rand.New(rand.NewPCG(1, 1)), utc("2026-03-01T00:00"), utc("2026-03-02T00:00"), 100)...)
	w.drain()
	w.rollUp()
	before := w.report(report.Request{From: "2026-03-01", To: "2026-03-01"})
	w.advance(120 * 24 * time.Hour)
	w.ingest(analytics.Hit{At: utc("2026-03-01T10:00"), Imported: true, Address: "late", Path: "/late"})
	w.drain()
	check := func() {
		t.Helper()
		if after := w.report(report.Request{From: "2026-03-01", To: "2026-03-01"}); after.Totals.Figures != before.Totals.Figures || !reflect.DeepEqual(after.Top, before.Top) {
			t.Errorf("%+v became %+v", before.Totals, after.Totals)
		}
	}
	check()
	if rolled := w.rollUp(); !slices.Equal(rolled.Sealed, []string{"2026-03-01"}) {
		t.Errorf("rolled up %+v", rolled)
	}
	check()
	if waiting := w.waitingDays(); len(waiting) > 0 {
		t.Errorf("%v wait", waiting)
	}
	if err := AggregateDaily(w.ctx, w.table, "shop", utc("2026-03-01T10:00")); !errors.Is(err, analytics.ErrSealed) {
		t.Errorf("aggregate daily: %v", err)
	}
}

func TestRolledUpItemsExpire(t *testing.T) {
	w := newShop(t, "UTC", utc("2026-03-02T12:00"))
	w.ingest(shopTraffic(rand.New(rand.NewPCG(1, 1)), utc("2026-02-28T00:00"), utc("2026-03-02T00:00"), 50)...)
	w.drain()
	w.rollUp()
	for _, tc := range []struct {
		key   analytics.StatsKey
		alive time.Duration // lifetime; 0 means forever
	}{
		{analytics.StatsKey{SiteID: "shop", Period: analytics.Day, Start: "2026-02-28"}, 731 * 24 * time.Hour},
		{analytics.StatsKey{SiteID: "shop", Period: analytics.Month, Start: "2026-02"}, 0},
	} {
		if _, err := analytics.StatsItems.Get(w.ctx, w.table, tc.key); err != nil {
			t.Errorf("%v: %v", tc.key, err)
		}
		later := table.New(w.db, "shop", table.Options{Clock: func() time.Time { return w.now().Add(max(tc.alive, 20*365*24*time.Hour)) }})
		if _, err := analytics.StatsItems.Get(w.ctx, later, tc.key); errors.Is(err, table.ErrNotFound) != (tc.alive > 0) {
			t.Errorf("%v, later: %v", tc.key, err)
		}
	}
}
