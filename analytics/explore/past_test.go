package explore

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/report"
	"github.com/onefold/onefold/internal/seeds"
	"github.com/onefold/onefold/table"
)

// A question that is asked again reads only days that can have changed, or have.
func TestPastIsCountedOnce(t *testing.T) {
	w := newShop(t, "Europe/Berlin", utc("2026-05-10T12:00"))
	w.ingest(traffic(rand.New(rand.NewPCG(1, 2)), utc("2026-05-06T00:00"), utc("2026-05-10T11:00"), 500)...)
	x, tab, g := w.counted(Options{KeepBytes: 1}) // so that no day is cached
	in := report.Request{Site: "shop", From: "2026-05-05", To: "2026-05-10", By: analytics.ByPage}
	shards := int64(len(analytics.EventsBetween(&w.site, utc("2026-05-06T00:00"), utc("2026-05-07T00:00"), "").Shards))
	days := func(filters []Filter) int64 {
		w.advance(cubeLife)
		before := g.queries.Load()
		w.same(x, in, filters)
		return (g.queries.Load() - before) / shards
	}
	const today, all = 1, 6
	late := func(at string) {
		_, err := analytics.NewCollector(tab, analytics.CollectorOptions{}).Ingest(w.ctx, "shop", []analytics.Hit{hit(rand.New(rand.NewPCG(3, 4)), 1, utc(at))})
		w.must(err)
	}
	for _, step := range []struct {
		what    string
		change  func()
		filters []Filter
		want    int64
	}{
		{"the first time", nil, nil, all},
		{"again", nil, nil, today},
		{"with a filter", nil, firefox, all},
		{"with a filter, again", nil, firefox, today},
		{"after an event of today", func() { late("2026-05-10T11:30") }, firefox, today},
		{"after an event of the past", func() { late("2026-05-07T10:00") }, firefox, all},
		{"after that", nil, firefox, today},
		{"without a filter, after an event of the past", nil, nil, all},
		{"two hours after midnight, when yesterday is complete", func() { w.advance(12 * time.Hour) }, nil, all},
	} {
		if step.change != nil {
			step.change()
		}
		if n := days(step.filters); n != step.want {
			t.Errorf("%s, %d days are read, want %d", step.what, n, step.want)
		}
	}
	for range 2 {
		if n := days(returned); n < 2*all {
			t.Errorf("%d days are read for a filter on what users did, want all of them twice", n)
		}
	}
}

// Whatever happens between questions, their answers are those of raw events.
func TestPastModel(t *testing.T) {
	seeds.Run(t, 20, func(t *testing.T, seed uint64) {
		random := rand.New(rand.NewPCG(seed, 31))
		w := newShop(t, []string{"UTC", "America/St_Johns", "Pacific/Auckland"}[random.IntN(3)], utc("2026-04-05T12:00")) // a change of clocks in Auckland
		w.ingest(traffic(random, utc("2026-04-01T00:00"), utc("2026-04-05T11:00"), 200)...)
		x, tab, _ := w.counted(Options{KeepBytes: random.IntN(2), Values: []int{3, 100_000}[random.IntN(2)]})
		fresh := func() *Explorer { return New(table.New(w.db, "shop", table.Options{Clock: w.now}), x.o) }
		for range 25 {
			switch random.IntN(4) {
			case 0: // events of now or of any day before
				at := w.now().Add(-time.Duration(random.IntN(2)*random.IntN(5*24*60)) * time.Minute)
				_, err := analytics.NewCollector(tab, analytics.CollectorOptions{}).Ingest(w.ctx, "shop", []analytics.Hit{hit(random, random.IntN(9), at)})
				w.must(err)
			case 1: // a change
				from := utc("2026-04-01T00:00").AddDate(0, 0, random.IntN(5))
				events, err := analytics.EventsBetween(&w.site, from, from.Add(24*time.Hour), "").Collect(w.ctx, tab)
				w.must(err)
				_, err = analytics.OneEvent(events[random.IntN(len(events))].EventKey).Rewrite(w.ctx, tab, func(*analytics.Event) (analytics.Rewrite, error) { return analytics.Drop, nil })
				w.must(err)
			default:
				w.advance(time.Duration(random.IntN(4*60)) * time.Minute)
			}
			w.advance(cubeLife)
			first := random.IntN(4)
			in := report.Request{
				Site: "shop", From: fmt.Sprintf("2026-04-%02d", 1+first), To: fmt.Sprintf("2026-04-%02d", 5+random.IntN(3)),
				By: analytics.Dimensions[random.IntN(len(analytics.Dimensions))], Period: []analytics.Period{analytics.Hour, analytics.Day, analytics.Month}[random.IntN(3)],
			}
			filters := [][]Filter{nil, firefox, returned}[random.IntN(3)]
			got, err := x.Report(w.ctx, in, filters)
			w.must(err)
			want, err := fresh().Report(w.ctx, in, filters)
			w.must(err)
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("%+v with %v:\n%+v\nwithout a cache\n%+v", in, filters, got, want)
			}
		}
		if len(x.pasts.of) == 0 {
			t.Error("no past is cached")
		}
	})
}

// The cached pasts are limited in number and in values, and the least recently used ones go first.
func TestPastsAreBounded(t *testing.T) {
	of := func(entries int) *pastSums {
		p := &pastSums{sums: sums{periods: map[analytics.Period]*counter{analytics.Day: {buckets: map[string]*counts{}}}}}
		for i := range entries {
			p.periods[analytics.Day].buckets[fmt.Sprint(i)] = nil
		}
		return p
	}
	c := pastCache{of: map[string]*pastSums{}}
	for i := range 3 * maxCubes {
		c.put(fmt.Sprint(i), of(1))
		if c.get(&past{question: "0", days: []string{"2026-05-01"}}) == nil {
			t.Fatalf("the most recently used one is gone after %d", i)
		}
	}
	if len(c.of) != maxCubes {
		t.Errorf("%d are cached, want %d", len(c.of), maxCubes)
	}
	c.put("big", of(maxPastEntries-2))
	if n := c.entries(); n > maxPastEntries || len(c.of) != 3 {
		t.Errorf("%d values of %d questions are cached", n, len(c.of))
	}
}
