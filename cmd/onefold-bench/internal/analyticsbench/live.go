package analyticsbench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/cmd/internal/delays"
	"github.com/onefold/onefold/cmd/onefold-bench/internal/workbench"
	"github.com/onefold/onefold/internal/useragent"
)

// Live traffic consists of visits of visitEvents events that start at random and so overlap. Two
// events of a visit are 30 to 60 seconds apart.
const (
	leastDwell = 30 * time.Second
	mostDwell  = 60 * time.Second
)

// linger is how long a server holds a single event so that others share its block.
const linger = 250 * time.Millisecond

// liveRates are the rates of a site, in events per second, each with the time during which visits
// start.
var liveRates = []struct {
	perSecond float64
	during    time.Duration
}{{1, 10 * time.Minute}, {10, 4 * time.Minute}, {100, 2 * time.Minute}}

// live measures the write units per event, including all derived items, for each rate and each fold
// delay.
func (b *bench) live(ctx context.Context, dir string) (results []workbench.Result, err error) {
	for _, rate := range liveRates {
		for _, delay := range []time.Duration{0, 10 * time.Second, 30 * time.Second, time.Minute} {
			b.o.Progress(fmt.Sprintf("live: %g events per second, fold delay %s", rate.perSecond, delay))
			use, err := LiveUse(ctx, b.o.Open, filepath.Join(dir, fmt.Sprintf("%g-%s", rate.perSecond, delay)), Live{rate.perSecond, rate.during, delays.Flags{FoldDelay: delay}})
			if err != nil {
				return nil, err
			}
			r := workbench.Result{Name: fmt.Sprintf("an event of live traffic, %g per second, fold delay %s", rate.perSecond, delay), Unit: "write units", Value: use.Writes.Total(), Most: true}
			if delay >= 30*time.Second {
				r.Goal = 2
			}
			results = append(results, r)
		}
	}
	return results, nil
}

// liveHit is an event, and its time since the start.
type liveHit struct {
	after time.Duration
	hit   analytics.Hit
}

// drawLive generates visits that start within a period, with so many events per second. The events
// are ordered by time.
func drawLive(perSecond float64, during time.Duration) []liveHit {
	v, random := newVisitor(1, livePages), rand.New(rand.NewPCG(2, 7))
	agents, err := useragent.New(0)
	if err != nil {
		panic(err) // only if a size is out of range
	}
	visits := int(perSecond * during.Seconds() / visitEvents)
	hits := make([]liveHit, 0, visits*visitEvents)
	for range visits {
		after := time.Duration(random.Int64N(int64(during)))
		for range visitEvents {
			path := v.next()
			agent := agents.Parse(v.agent)
			hits = append(hits, liveHit{after, analytics.Hit{
				URL: "https://example.com" + path, Referrer: v.referrer, UserAgent: v.agent, Address: v.address, Client: analytics.Client{
					Screen: v.screen, Language: v.language, Country: countries[int(v.address[len(v.address)-1])%len(countries)],
					Browser: agent.Browser, OS: agent.OS, Device: agent.Device,
				},
			}})
			after += leastDwell + time.Duration(random.Int64N(int64(mostDwell-leastDwell)))
		}
	}
	slices.SortFunc(hits, func(a, b liveHit) int { return cmp.Compare(a.after, b.after) })
	return hits
}

// Live describes live traffic of a site: the events per second, the time during which visits start,
// and the delays of derived items.
type Live struct {
	PerSecond float64
	During    time.Duration
	Delays    delays.Flags
}

// LiveUse returns the units per event of live traffic, including all derived items. The traffic
// drives the clock, so the result does not depend on the machine.
func LiveUse(ctx context.Context, open workbench.Open, dir string, l Live) (workbench.Use, error) {
	hits := drawLive(l.PerSecond, l.During)
	begin, n := time.Date(2026, 5, 12, 10, 0, 0, 0, time.UTC), float64(len(hits))
	var collector *analytics.Collector
	traffic := workbench.Traffic{
		Open: open, Dir: dir, Delays: l.Delays, Begin: begin,
		Prepare: func(ctx context.Context, s *workbench.Store) error {
			collector = analytics.NewCollector(s.Table, analytics.CollectorOptions{})
			return addSite(ctx, s, liveSite)
		},
		Send: func(ctx context.Context, now time.Time) (more bool, err error) {
			var due []analytics.Hit
			if len(hits) > 0 && begin.Add(hits[0].after+linger).After(now) {
				return true, nil
			}
			for len(hits) > 0 && !begin.Add(hits[0].after).After(now) {
				hits[0].hit.At = begin.Add(hits[0].after)
				due, hits = append(due, hits[0].hit), hits[1:]
			}
			return len(hits) > 0, ingestAll(ctx, collector, due)
		},
	}
	use, err := traffic.Use(ctx)
	return use.Per(n), err
}

// ingestAll stores hits. A hit that is not stored is an error.
func ingestAll(ctx context.Context, collector *analytics.Collector, hits []analytics.Hit) error {
	if len(hits) == 0 {
		return nil
	}
	outcomes, err := collector.Ingest(ctx, liveSite, hits)
	if err != nil {
		return err
	}
	for i := range outcomes {
		if outcomes[i].Status != analytics.Stored {
			return errors.New("an event was not stored: " + outcomes[i].Detail)
		}
	}
	return nil
}
