package reconcile

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/report"
	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/fold/foldtest"
	"github.com/onefold/onefold/internal/calendar"
	"github.com/onefold/onefold/table"
)

// shop is one site on an in-memory table, with its folds and its own clock. Tests ask their
// questions about it.
type shop struct {
	*foldtest.World
	ctx    context.Context
	db     *engine.DB
	table  *table.Table
	worker *fold.Worker
	site   analytics.Site
	cal    calendar.Zone
}

func newShop(t *testing.T, zone string, now time.Time) *shop {
	t.Helper()
	return newShopOf(t, 4, zone, now)
}

// newShopOf returns a shop whose site has some shards.
func newShopOf(t *testing.T, shards int, zone string, now time.Time) *shop {
	t.Helper()
	world := foldtest.NewWorld(t, foldtest.Setup{
		Name: "shop", Schema: analytics.Schema, Group: analytics.FoldGroup, At: now,
		Folds: func(*table.Table) []*fold.Fold { return analytics.Folds(analytics.Config{}) },
	})
	w := &shop{World: world, ctx: world.Ctx, db: world.DB, table: world.Table, worker: world.Worker}
	var err error
	w.site, err = analytics.CreateSite(w.ctx, w.table, analytics.NewSite{ID: "shop", Shards: shards, TimeZone: zone, Settings: analytics.Settings{CustomProperties: []string{"plan"}}})
	w.must(err)
	for _, g := range shopGoals {
		w.must(analytics.Goals.Put(w.ctx, w.table, &g))
	}
	w.cal, err = calendar.LoadZone(zone)
	w.must(err)
	return w
}

var shopGoals = []analytics.Goal{
	{GoalKey: analytics.GoalKey{SiteID: "shop", GoalID: "page"}, Path: "/page/[12]", PathKind: analytics.RegexpPath, Value: "2.5", Counting: analytics.OncePerSession},
	{GoalKey: analytics.GoalKey{SiteID: "shop", GoalID: "order"}, Event: "order", Counting: analytics.EveryTime},
}

func (w *shop) now() time.Time          { return w.Now() }
func (w *shop) advance(d time.Duration) { w.Advance(d) }
func (w *shop) must(err error)          { w.Helper(); w.Must(err) }

func (w *shop) drain() { w.Helper(); w.Drain() }

// ingest stores hits, all of which must be accepted.
func (w *shop) ingest(hits ...analytics.Hit) {
	w.Helper()
	outcomes, err := analytics.NewCollector(w.table, analytics.CollectorOptions{}).Ingest(w.ctx, w.site.SiteID, hits)
	w.must(err)
	for i, o := range outcomes {
		if o.Status != analytics.Stored {
			w.Fatalf("hit %+v: %+v", hits[i], o)
		}
	}
}

// rollUp rolls up, and folds the changes.
func (w *shop) rollUp() Rolled {
	w.Helper()
	rolled, err := RollUp(w.ctx, w.table, w.site.SiteID, w.now())
	w.must(err)
	w.drain()
	return rolled
}

func (w *shop) report(in report.Request) report.Report {
	w.Helper()
	in.Site = w.site.SiteID
	out, err := report.Make(w.ctx, w.table, in)
	w.must(err)
	return out
}

// shopTraffic generates the hits of a few visitors between two times. Some return and some leave at
// once.
func shopTraffic(random *rand.Rand, from, to time.Time, n int) []analytics.Hit {
	hits := make([]analytics.Hit, 0, n)
	visitors := max(3, n/8)
	for len(hits) < n {
		visitor := random.IntN(visitors)
		at := from.Add(time.Duration(random.Int64N(int64(to.Sub(from)))))
		for range 1 + random.IntN(5) {
			if !at.Before(to) || len(hits) == n {
				break
			}
			hits = append(hits, shopHit(random, visitor, at))
			at = at.Add(time.Duration(random.IntN(40)) * time.Minute)
		}
	}
	return hits
}

func shopHit(random *rand.Rand, visitor int, at time.Time) analytics.Hit {
	h := analytics.Hit{
		At: at, Imported: true, Address: fmt.Sprintf("10.0.0.%d", visitor), UserAgent: "test",
		Path:   fmt.Sprintf("/page/%d", random.IntN(7)),
		Client: analytics.Client{Country: []string{"", "DE", "FR", "US"}[visitor%4], Browser: []string{"Firefox", "Chrome"}[visitor%2]},
	}
	if random.IntN(3) == 0 {
		h.Referrer = []string{"https://www.google.com/", "https://news.ycombinator.com/item?id=1"}[random.IntN(2)]
	}
	if random.IntN(6) == 0 {
		h.Name, h.Revenue = []string{"signup", "order"}[random.IntN(2)], fmt.Sprintf("%d.25", random.IntN(3))
	}
	if random.IntN(5) == 0 {
		h.Properties = map[string]string{"plan": []string{"free", "pro"}[random.IntN(2)]}
	}
	if random.IntN(8) == 0 {
		h.Name, h.Revenue, h.EngagedMS, h.Scroll = analytics.EngagementEvent, "", int64(random.IntN(360))*250, random.IntN(101)
	}
	if random.IntN(8) == 0 {
		h.Name, h.Revenue, h.Engagement = analytics.VitalsEvent, "", analytics.Engagement{}
		h.Vitals = analytics.Vitals{LCP: float64(random.IntN(6000)), INP: float64(random.IntN(700)), CLS: new(float64(random.IntN(3)) / 8)}
	}
	if random.IntN(10) == 0 {
		h.UserID = fmt.Sprintf("user-%d", visitor)
	}
	return h
}
