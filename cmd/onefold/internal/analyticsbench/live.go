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
		for _, delay := range []time.Duration{0, 10 * time.Second, 30 * time.Second, time.Minute} {
			b.o.Progress(fmt.Sprintf("live: %g events a second, folded after %s", rate.perSecond, delay))
			units, err := b.liveUnits(ctx, filepath.Join(dir, fmt.Sprintf("%g-%s", rate.perSecond, delay)), drawLive(rate.perSecond, rate.during), delay)
			if err != nil {
				return nil, err
			}
			r := Result{Name: fmt.Sprintf("an event of live traffic, %g a second, fold delay %s", rate.perSecond, delay), Unit: "write units", Value: units, Most: true}
			if delay >= 30*time.Second {
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

// liveUnits runs a worker whose sleep lets time go by and the hits of that time come in.
func (b *bench) liveUnits(ctx context.Context, dir string, hits []liveHit, delay time.Duration) (float64, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	clock := newHandClock(time.Date(2026, 5, 12, 10, 0, 0, 0, time.UTC))
	traffic := &liveTraffic{clock: clock, begin: clock.now(), hits: hits}
	sleep := func(ctx context.Context, d time.Duration) error {
		if err := traffic.pass(ctx, d); err != nil {
			cancel(err)
		}
		return ctx.Err()
	}
	s, err := b.o.Open(ctx, dir, Time{clock.now, sleep, delay})
	if err != nil {
		return 0, err
	}
	err = s.Site(ctx, liveSite)
	traffic.store, traffic.collector = s, analytics.NewCollector(s.Table, analytics.CollectorOptions{})
	before := writeUnits(s.DB)
	if err == nil {
		err = s.Worker.Run(ctx)
	}
	if cause := context.Cause(ctx); !errors.Is(cause, errLiveOver) {
		err = errors.Join(err, cause)
	}
	units := writeUnits(s.DB) - before
	return units / float64(len(hits)), errors.Join(err, s.DB.Close())
}

// errLiveOver ends a worker when all hits are sent and folded.
var errLiveOver = errors.New("all is sent and folded")

// idleSleeps is how often a worker sleeps with nothing waiting until nothing can come of its last flush any more.
const idleSleeps = 3

// liveTraffic sends hits when their time comes.
type liveTraffic struct {
	clock     *handClock
	begin     time.Time
	store     *Store
	collector *analytics.Collector
	hits      []liveHit // that are still to come
	idle      int
}

// pass lets a time go by. It returns errLiveOver at the end.
func (l *liveTraffic) pass(ctx context.Context, d time.Duration) error {
	l.clock.set(l.clock.now().Add(d))
	var due []analytics.Hit
	for len(l.hits) > 0 && !l.begin.Add(l.hits[0].after).After(l.clock.now()) {
		l.hits[0].hit.At = l.begin.Add(l.hits[0].after)
		due = append(due, l.hits[0].hit)
		l.hits = l.hits[1:]
	}
	if len(due) > 0 {
		outcomes, err := l.collector.Ingest(ctx, liveSite, due)
		if err != nil {
			return err
		}
		for i := range outcomes {
			if outcomes[i].Status != analytics.Stored {
				return errors.New("an event was not stored: " + outcomes[i].Detail)
			}
		}
	}
	l.idle++
	if len(l.hits) > 0 || l.store.Worker.Status().Waiting > 0 {
		l.idle = 0
	}
	if l.idle > idleSleeps {
		return errLiveOver
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
