package analytics

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/fold/foldtest"
	"github.com/onefold/onefold/table"
)

// world is a complete installation in memory, with a clock that stands still.
type world struct {
	*foldtest.World
	collector *Collector
}

func newWorld(t *testing.T, now time.Time) *world {
	t.Helper()
	w := &world{World: foldtest.NewWorld(t, foldtest.Setup{
		Schema: Schema, Group: FoldGroup, At: now, Engine: engine.Options{StreamShards: 3, RollEvery: 300},
		Folds: func(t *table.Table) []*fold.Fold { return Folds(Config{Retention: SiteRetention(t)}) },
	})}
	w.collector = NewCollector(w.Table, CollectorOptions{})
	return w
}

// testShards is the number of shards of sites in tests: more than one, so that the events of a
// visit are in several shards.
const testShards = 4

func (w *world) site(id, zone string) Site {
	w.Helper()
	s, err := CreateSite(w.Ctx, w.Table, NewSite{ID: id, Shards: testShards, TimeZone: zone, Domains: []string{"example.com"}, Settings: Settings{CustomProperties: []string{"plan"}}})
	w.Must(err)
	for _, g := range []Goal{
		{GoalKey: GoalKey{id, "p1"}, Path: "/p1", Value: "2.5"},
		{GoalKey: GoalKey{id, "sale"}, Event: "signup", Counting: EveryTime},
	} {
		w.Must(g.Check())
		w.Must(Goals.Put(w.Ctx, w.Table, &g))
	}
	return s
}

func (w *world) ingest(site string, hits ...Hit) []Outcome {
	w.Helper()
	outcomes, err := w.collector.Ingest(w.Ctx, site, hits)
	w.Must(err)
	return outcomes
}

// events returns all raw events of a site.
func (w *world) events(s Site, from, to time.Time) (all []*Event) {
	w.Helper()
	for e, err := range EventsBetween(&s, from, to, "").All(w.Ctx, w.Table) {
		w.Must(err)
		all = append(all, &e)
	}
	return all
}

// hours returns the statistics of hours, added up over shards.
func (w *world) hours(s Site) map[string]Stats {
	w.Helper()
	all := map[string]Stats{}
	for h, err := range StatsByTime.All(w.Ctx, w.Table, StatsIn{SiteID: s.SiteID, Period: Hour}) {
		w.Must(err)
		sum := all[h.Start]
		sum.Merge(&h)
		sum.StatsKey = StatsKey{h.SiteID, h.Period, h.Start, 0}
		all[h.Start] = sum
	}
	return all
}

// breakdowns returns the breakdowns of hours by a dimension, added up over shards.
func (w *world) breakdowns(s Site, d Dimension) map[string]Breakdown {
	w.Helper()
	all := map[string]Breakdown{}
	for b, err := range BreakdownByTime.All(w.Ctx, w.Table, BreakdownIn{SiteID: s.SiteID, Period: Hour, Dimension: d}) {
		w.Must(err)
		sum := all[b.Start]
		sum.BreakdownKey = BreakdownKey{b.SiteID, b.Period, b.Dimension, b.Start, 0}
		sum.merge(&b)
		all[b.Start] = sum
	}
	return all
}

// drawHits generates what visitors do in a time range. Every hit has an ID, so that it can be sent
// again.
func drawHits(r *rand.Rand, n, visitors int, from, to time.Time) []Hit {
	hits := make([]Hit, n)
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	at := from
	for i := range hits {
		if r.IntN(3) > 0 {
			at = at.Add(time.Duration(r.IntN(40)) * time.Minute / 2) // close to the one before
		} else {
			at = from.Add(time.Duration(r.Int64N(int64(to.Sub(from)))))
		}
		if !at.Before(to) {
			at = from
		}
		h := Hit{
			EventID:   newULID(uint64(at.UnixMilli()), r.Uint64(), uint16(i)).String(),
			URL:       fmt.Sprintf("https://example.com/p%d%s", r.IntN(6), pick("", "", "?utm_source=hn&utm_medium=social", "?utm_campaign=x")),
			Referrer:  pick("", "https://www.google.com/", "https://example.com/p1", "https://blog.net/post"),
			Address:   fmt.Sprintf("192.0.2.%d", r.IntN(visitors)),
			UserAgent: "test", Client: Client{Country: pick("DE", "FR", ""), Browser: pick("Firefox", "Chrome"), Device: "desktop", Language: pick("de", "en")},
		}
		if r.IntN(4) == 0 {
			h.Properties = map[string]string{"plan": pick("free", "pro", ""), "other": "x"}
		}
		switch r.IntN(8) {
		case 4:
			h.Name, h.LCP, h.INP = VitalsEvent, float64(r.IntN(6000)), float64(r.IntN(3)*200)
			h.Device = pick("desktop", "phone", "")
			if r.IntN(3) > 0 {
				h.CLS = new(float64(r.IntN(4)) / 10)
			}
		case 3:
			h.Name, h.EngagedMS, h.Scroll = EngagementEvent, int64(r.IntN(5)*700), r.IntN(3)*50
		case 0:
			h.Name, h.Revenue = pick("signup", "download"), pick("", "9.99", "0.5")
		case 1:
			h.SessionID = pick("s1", "s2")
		case 2:
			h.UserID = pick("ann", "bob")
		}
		hits[i] = h
	}
	return hits
}

// sessions returns all sessions of a list.
func (w *world) sessions(list iter.Seq2[Session, error]) (all []Session) {
	w.Helper()
	for s, err := range list {
		w.Must(err)
		all = append(all, s)
	}
	return all
}
