package analyticsbench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/internal/useragent"
)

// Live traffic is visits of visitEvents events that begin at random, and so overlap. Between two events of a visit there
// are 30 to 60 seconds.
const (
	leastDwell = 30 * time.Second
	mostDwell  = 60 * time.Second
	flushSoon  = 250 * time.Millisecond // how long derived items wait without a delay: what a worker waits by default
)

// liveRates are the events a second of a site, and for how long its visits begin.
var liveRates = []struct {
	perSecond float64
	during    time.Duration
}{{1, 10 * time.Minute}, {10, 4 * time.Minute}, {100, 2 * time.Minute}}

// live measures the write units of an event with all that is derived from it, for each rate and for how long derived
// items wait. A clock that the traffic moves decides, so the figures do not depend on the machine.
func (b *bench) live(ctx context.Context, dir string) (results []Result, err error) {
	for _, rate := range liveRates {
		for _, delay := range []time.Duration{0, 10 * time.Second, time.Minute} {
			b.o.Progress(fmt.Sprintf("live: %g events a second, folded after %s", rate.perSecond, delay))
			units, err := b.liveUnits(ctx, filepath.Join(dir, fmt.Sprintf("%g-%s", rate.perSecond, delay)), drawLive(rate.perSecond, rate.during), cmp.Or(delay, flushSoon))
			if err != nil {
				return nil, err
			}
			r := Result{Name: fmt.Sprintf("an event of live traffic, %g a second, fold delay %s", rate.perSecond, delay), Unit: "write units", Value: units, Most: true}
			if delay == time.Minute {
				r.Goal = 2
			}
			results = append(results, r)
		}
	}
	return results, nil
}

// liveHit is an event and how long after the beginning it happens.
type liveHit struct {
	after time.Duration
	hit   analytics.Hit
}

// drawLive makes up visits that begin in a time, so many that they have so many events a second, in order of time.
func drawLive(perSecond float64, during time.Duration) []liveHit {
	v, random := newVisitor(1, livePages), rand.New(rand.NewPCG(2, 7))
	agents, err := useragent.New(0)
	if err != nil {
		panic(err) // only for a size that is out of range
	}
	visits := int(perSecond * during.Seconds() / visitEvents)
	hits := make([]liveHit, 0, visits*visitEvents)
	for range visits {
		after := time.Duration(random.Int64N(int64(during)))
		for range visitEvents {
			path := v.next()
			agent := agents.Parse(v.agent)
			hits = append(hits, liveHit{after, analytics.Hit{
				URL: "https://example.com" + path, Referrer: v.referrer, UserAgent: v.agent, Address: v.address, Screen: v.screen, Language: v.language,
				Country: countries[int(v.address[len(v.address)-1])%len(countries)], Browser: agent.Browser, OS: agent.OS, Device: agent.Device,
			}})
			after += leastDwell + time.Duration(random.Int64N(int64(mostDwell-leastDwell)))
		}
	}
	slices.SortFunc(hits, func(a, b liveHit) int { return cmp.Compare(a.after, b.after) })
	return hits
}

// liveUnits sends hits as time goes by and folds what there is each time that a delay has passed, as a worker does: what
// one flush has derived is folded further in the next. It ends when nothing is left to fold.
func (b *bench) liveUnits(ctx context.Context, dir string, hits []liveHit, delay time.Duration) (float64, error) {
	begin := time.Date(2026, 5, 12, 10, 0, 0, 0, time.UTC)
	clock := newHandClock(begin)
	s, err := b.o.Open(ctx, dir, clock.now)
	if err != nil {
		return 0, err
	}
	err = s.Site(ctx, liveSite)
	before := writeUnits(s.DB)
	if err == nil {
		err = sendLive(ctx, s, clock, hits, delay)
	}
	units := writeUnits(s.DB) - before
	return units / float64(len(hits)), errors.Join(err, s.DB.Close())
}

func sendLive(ctx context.Context, s *Store, clock *handClock, hits []liveHit, delay time.Duration) error {
	collector := analytics.NewCollector(s.Table, analytics.CollectorOptions{})
	begin := clock.now()
	for wrote := false; len(hits) > 0 || wrote; {
		due := clock.now().Add(delay)
		if !wrote { // so nothing waits, and the next event is the first to wait
			due = begin.Add(hits[0].after + delay)
		}
		for len(hits) > 0 && !begin.Add(hits[0].after).After(due) {
			clock.set(begin.Add(hits[0].after))
			outcomes, err := collector.Ingest(ctx, liveSite, []analytics.Hit{hits[0].hit})
			if err != nil {
				return err
			}
			if outcomes[0].Status != analytics.Stored {
				return errors.New("an event was not stored: " + outcomes[0].Detail)
			}
			hits = hits[1:]
		}
		clock.set(due)
		before := s.Worker.Status().Writes
		fence, err := s.Worker.Fence(ctx)
		if err == nil {
			err = s.Worker.WaitFor(ctx, fence)
		}
		if err != nil {
			return err
		}
		wrote = s.Worker.Status().Writes > before
	}
	return nil
}

// handClock is a time that is set by hand.
type handClock struct{ nanos atomic.Int64 }

func newHandClock(at time.Time) *handClock {
	c := &handClock{}
	c.set(at)
	return c
}

func (c *handClock) set(at time.Time) { c.nanos.Store(at.UnixNano()) }
func (c *handClock) now() time.Time   { return time.Unix(0, c.nanos.Load()).UTC() }
