package explore

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/onefold/onefold/analytics"
)

// A cube is what is counted of the visits that filters select: by every period, and by every dimension. A page that shows
// a dozen breakdowns asks for all of them at once, with the same filters; reading the events is what takes long, so they
// are read once. It does not change once it is made.
type cube struct {
	scan    *scan
	periods map[analytics.Period]*counter
	values  map[analytics.Dimension]*valueCounter
	made    time.Time
	visits  int64 // of the days so far, chosen or not
}

// The bounds of cubes that are kept for the questions that come next.
const (
	cubeLife       = 15 * time.Second
	maxCubes       = 8
	maxCubeEntries = 200_000 // values and buckets of one that is kept
)

// flight is a cube that is being made.
type flight struct {
	done chan struct{}
	cube *cube
	err  error
}

// cube counts the visits of a range, or returns what was counted a moment ago. by is a dimension that it has to know.
func (x *Explorer) cube(ctx context.Context, r Range, filters []Filter, by analytics.Dimension) (*cube, error) {
	if !strings.HasPrefix(string(by), Property) {
		by = "" // all others are always counted
	}
	key := cubeKey(r, filters, by)
	if x.watched != nil {
		key += "\x00" + strconv.FormatUint(x.watched.changes(r.Site), 10) // what was erased is forgotten at once
	}
	for {
		x.mu.Lock()
		if c := x.cubes[key]; c != nil && x.t.Now().Sub(c.made) < cubeLife {
			x.mu.Unlock()
			return c, nil
		}
		f := x.flights[key]
		if f == nil {
			f = &flight{done: make(chan struct{})}
			x.flights[key] = f
			x.mu.Unlock()
			x.lead(ctx, key, f, r, filters, by)
			return f.cube, f.err
		}
		x.mu.Unlock()
		select {
		case <-f.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if !errors.Is(f.err, context.Canceled) && !errors.Is(f.err, context.DeadlineExceeded) {
			return f.cube, f.err
		} // whoever made it gave up: somebody else does
	}
}

// lead makes a cube for all who wait for it.
func (x *Explorer) lead(ctx context.Context, key string, f *flight, r Range, filters []Filter, by analytics.Dimension) {
	f.err = context.Canceled // if this panics, the others make it themselves
	defer func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		delete(x.flights, key)
		if f.err == nil {
			x.keep(key, f.cube)
		}
		close(f.done)
	}()
	f.cube, f.err = x.makeCube(ctx, r, filters, by)
}

// keep remembers a cube that is small enough, and forgets the oldest. The caller has the lock.
func (x *Explorer) keep(key string, c *cube) {
	for k, old := range x.cubes {
		if x.t.Now().Sub(old.made) >= cubeLife {
			delete(x.cubes, k)
		}
	}
	entries := 0
	for _, p := range c.periods {
		entries += len(p.buckets)
	}
	for _, v := range c.values {
		entries += len(v.values)
	}
	if entries > maxCubeEntries {
		return
	}
	for len(x.cubes) >= maxCubes {
		oldest := ""
		for k, c := range x.cubes {
			if oldest == "" || c.made.Before(x.cubes[oldest].made) {
				oldest = k
			}
		}
		delete(x.cubes, oldest)
	}
	x.cubes[key] = c
}

// cubeKey tells questions from each other.
func cubeKey(r Range, filters []Filter, by analytics.Dimension) string {
	parts := []string{r.Site, r.From, r.To, string(by)}
	for _, f := range filters {
		parts = append(parts, f.String())
	}
	slices.Sort(parts[4:])
	return strings.Join(parts, "\x00")
}

func (x *Explorer) makeCube(ctx context.Context, r Range, filters []Filter, by analytics.Dimension) (*cube, error) {
	s, err := x.scan(ctx, r, filters)
	if err != nil {
		return nil, err
	}
	c := &cube{scan: s, made: x.t.Now(), periods: map[analytics.Period]*counter{}, values: map[analytics.Dimension]*valueCounter{}}
	for _, p := range []analytics.Period{analytics.Hour, analytics.Day, analytics.Month} {
		c.periods[p] = &counter{period: p, buckets: map[string]*counts{}}
	}
	dimensions := slices.Clone(analytics.Dimensions)
	if by != "" {
		dimensions = append(dimensions, by)
	}
	for _, d := range dimensions {
		if f, known := facetOf(d); known {
			c.values[d] = &valueCounter{facet: f, most: x.o.Values, values: map[string]*valueCount{}}
		}
	}
	return c, s.each(ctx, func(day string, d *columns) error {
		c.count(day, d, d.chosen(s.conditions))
		return ctx.Err()
	})
}

// tally is what is counted of a day.
type tally struct {
	*columns
	name   string
	chosen []int    // visits, in order
	sums   []counts // of their events, parallel to chosen
	before int64    // more than there were visits on days before
}

// count counts the chosen visits of a day. What is counted by different dimensions is counted at the same time.
func (c *cube) count(name string, d *columns, chosen []int) {
	day := &tally{columns: d, name: name, chosen: chosen, sums: make([]counts, len(chosen)), before: c.visits}
	c.visits += int64(len(d.visitor))
	for i, v := range chosen {
		for e, end := d.events(v); e < end; e++ {
			day.sums[i].addEvent(d, e)
		}
	}
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for _, p := range c.periods {
		g.Go(func() error { p.count(day); return nil })
	}
	for _, v := range c.values {
		g.Go(func() error { v.count(day); return nil })
	}
	_ = g.Wait() // nothing fails
}
