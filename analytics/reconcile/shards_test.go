package reconcile

import (
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/report"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/table"
)

// A site whose events, and with them its hours, are spread over several shards has the same
// statistics as one with a single shard, even if their number changes while visitors are active.
// What is stored matches its events.
func TestStatisticsOfShards(t *testing.T) {
	now := time.Date(2026, 5, 12, 23, 30, 0, 0, time.UTC)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	from := now.Add(-20 * time.Hour)
	hits := shopTraffic(rand.New(rand.NewPCG(seed, 0)), from, now, 600)
	reports := func(w *shop) (all []report.Report) {
		for _, in := range []report.Request{
			{Period: analytics.Hour}, {Period: analytics.Day}, {Period: analytics.Day, By: analytics.ByPage}, {Period: analytics.Day, By: analytics.ByCountry},
		} {
			in.Site, in.From, in.To = "shop", "2026-05-12", "2026-05-12"
			out := w.report(in)
			out.Cost = report.Report{}.Cost // more items are read
			all = append(all, out)
		}
		return all
	}
	plain := newShopOf(t, 1, "UTC", now)
	plain.ingest(hits...)
	plain.drain()
	want := reports(plain)
	for name, changes := range map[string]table.Sharding{
		"three":   table.Shards(3),
		"changed": {{From: from, N: 1}, {From: from.Add(6 * time.Hour), N: 3}, {From: from.Add(13 * time.Hour), N: 2}},
	} {
		w := newShopOf(t, 3, "UTC", now)
		site, err := analytics.Sites.Modify(w.ctx, w.table, w.site.SiteKey, func(s *analytics.Site) error {
			s.Sharding = changes
			return nil
		})
		w.must(err)
		w.site = site
		w.ingest(hits...)
		w.drain()
		if got := reports(w); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: the reports are\n%+v, want\n%+v", name, got, want)
		}
		used := map[int]bool{}
		for s, err := range analytics.StatsByTime.All(w.ctx, w.table, analytics.StatsIn{SiteID: "shop", Period: analytics.Hour, From: "2026", To: "2027"}) {
			w.must(err)
			used[s.Shard] = true
		}
		if len(used) != 3 {
			t.Errorf("%s: the shards are %v", name, used)
		}
		if name != "three" {
			continue
		}
		found, err := Verify(w.ctx, w.table, w.worker, RangeIn{Site: "shop", From: "2026-05-12", To: "2026-05-12"}, nil)
		w.must(err)
		if found.Count != 0 {
			t.Errorf("%s: %+v", name, found)
		}
		stats, err := fold.Load(w.ctx, w.table, analytics.StatsItems, []analytics.StatsKey{{SiteID: "shop", Period: analytics.Hour, Start: "2026-05-12T12:00:00Z", Shard: 1}})
		w.must(err)
		broken := stats[0].State
		broken.PageViews += 7
		w.must(fold.ReplaceState(w.ctx, w.table, analytics.StatsItems, broken.StatsKey, broken, stats[0].Version))
		found, err = Rebuild(w.ctx, w.table, w.worker, RangeIn{Site: "shop", From: "2026-05-12", To: "2026-05-12"}, nil)
		w.must(err)
		if found.Count == 0 || !reflect.DeepEqual(reports(w), want) {
			t.Errorf("%s: rebuilt %+v", name, found)
		}
	}
}
