package explore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/reconcile"
	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/fold/foldtest"
	"github.com/onefold/onefold/internal/calendar"
	"github.com/onefold/onefold/table"
)

// shop is one site on an in-memory table, with its folds and its own clock.
type shop struct {
	*foldtest.World
	ctx       context.Context
	db        dynamo.API
	table     *table.Table
	collector *analytics.Collector
	worker    *fold.Worker
	x         *Explorer
	site      analytics.Site
	cal       calendar.Zone
}

// newShop returns a shop that keeps raw events for 30 days.
func newShop(t *testing.T, zone string, now time.Time) *shop {
	t.Helper()
	return newShopOf(t, zone, now, analytics.Retention{RawDays: 30})
}

func newShopOf(t *testing.T, zone string, now time.Time, keep analytics.Retention) *shop {
	t.Helper()
	world := foldtest.NewWorld(t, foldtest.Setup{
		Name: "shop", Schema: analytics.Schema, Group: analytics.FoldGroup, At: now, Wrap: func(db *engine.DB) dynamo.API { return Watch(db) },
		Folds: func(*table.Table) []*fold.Fold { return analytics.Folds(analytics.Config{}) },
	})
	w := &shop{World: world, ctx: world.Ctx, db: world.DB, table: world.Table, worker: world.Worker}
	var err error
	w.site, err = analytics.CreateSite(w.ctx, w.table, analytics.NewSite{ID: "shop", Shards: 4, TimeZone: zone, Retention: keep})
	w.must(err)
	for _, g := range []analytics.Goal{
		{GoalKey: analytics.GoalKey{SiteID: "shop", GoalID: "blog"}, Name: "Blog", Path: "/blog/**", Value: "0.50", Counting: analytics.OncePerSession},
		{GoalKey: analytics.GoalKey{SiteID: "shop", GoalID: "buy"}, Name: "Buy", Event: "order", Counting: analytics.EveryTime},
	} {
		w.must(analytics.Goals.Create(w.ctx, w.table, &g))
	}
	w.cal, err = calendar.LoadZone(zone)
	w.must(err)
	w.collector = analytics.NewCollector(w.table, analytics.CollectorOptions{})
	w.x = New(w.table, Options{})
	return w
}

func (w *shop) now() time.Time          { return w.Now() }
func (w *shop) advance(d time.Duration) { w.Advance(d) }
func (w *shop) must(err error)          { w.Helper(); w.Must(err) }

// ingest stores hits, all of which must be accepted, and folds them.
func (w *shop) ingest(hits ...analytics.Hit) {
	w.Helper()
	for len(hits) > 0 {
		n := min(len(hits), 1000)
		outcomes, err := w.collector.Ingest(w.ctx, w.site.SiteID, hits[:n])
		w.must(err)
		for i, o := range outcomes {
			if o.Status != analytics.Stored {
				w.Fatalf("hit %+v: %+v", hits[i], o)
			}
		}
		hits = hits[n:]
	}
	w.must(w.worker.Drain(w.ctx))
}

func (w *shop) rollUp() {
	w.Helper()
	_, err := reconcile.RollUp(w.ctx, w.table, w.site.SiteID, w.now())
	w.must(err)
	w.must(w.worker.Drain(w.ctx))
}

func (w *shop) between(from, to string) Range { return Range{w.site.SiteID, from, to} }

func utc(text string) time.Time {
	at, err := time.Parse("2006-01-02T15:04", text)
	if err != nil {
		panic(err)
	}
	return at
}

// traffic generates the hits of a few visitors between two times. Some return, some leave at once,
// some use their own session IDs, some are identified. Some values are hostile.
func traffic(random *rand.Rand, from, to time.Time, n int) []analytics.Hit {
	hits := make([]analytics.Hit, 0, n)
	visitors := max(3, n/8)
	for len(hits) < n {
		visitor := random.IntN(visitors)
		at := from.Add(time.Duration(random.Int64N(int64(to.Sub(from)))))
		for range 1 + random.IntN(6) {
			if !at.Before(to) || len(hits) == n {
				break
			}
			hits = append(hits, hit(random, visitor, at))
			at = at.Add(time.Duration(random.IntN(40*60_000)) * time.Millisecond)
		}
	}
	return hits
}

func hit(random *rand.Rand, visitor int, at time.Time) analytics.Hit {
	pick := func(of ...string) string { return of[random.IntN(len(of))] }
	h := analytics.Hit{
		At: at, Imported: true, Address: fmt.Sprintf("10.0.0.%d", visitor), UserAgent: "test",
		Path:   pick("/", "/a", "/b", "/blog/1", "/blog/2", "/blog/x/y", "/=cmd|' /C calc'!A0", "/\\|pipe", "/ü"),
		Client: analytics.Client{Country: []string{"", "DE", "FR", "US"}[visitor%4], Browser: []string{"Firefox", "Chrome"}[visitor%2]},
	}
	if random.IntN(2) == 0 {
		h.URL = pick("https://example.com", "https://www.shop.example") + h.Path
	}
	if random.IntN(3) == 0 {
		h.Referrer = pick("https://www.google.com/", "https://news.ycombinator.com/item?id=1")
	}
	if random.IntN(6) == 0 {
		h.Name, h.Revenue = pick("signup", "order"), pick("", "1.25", "-3", "0.10")
	} else if random.IntN(9) == 0 {
		h.Revenue = pick("2", "-0.75", "0.01") // revenue of a page view
	}
	if random.IntN(8) == 0 {
		h.Name, h.Revenue = analytics.EngagementEvent, ""
		h.EngagedMS, h.Scroll = random.Int64N(90_000), random.IntN(101)
	}
	if random.IntN(4) == 0 {
		h.Properties = map[string]string{"plan": pick("free", "pro", "a:is:b|c"), "od:is:d": "x"}
	}
	if visitor%3 == 0 {
		h.UserID = fmt.Sprintf("user-%d", visitor)
	}
	if visitor%7 == 0 {
		h.SessionID = pick("s1", "s2")
	}
	return h
}
