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

// A cube holds the counts of the filtered visits of a range, for all periods and dimensions. A page
// with a dozen breakdowns requests all of them at once with the same filters. Reading events takes
// most of the time, so they are read once. A cube is immutable once built.
type cube struct {
	sums
	scan *scan
	made time.Time
}

// sums are the counts of the days so far.
type sums struct {
	periods map[analytics.Period]*counter
	values  map[analytics.Dimension]*valueCounter
	visits  int64 // of these days, selected or not
	read    int   // raw events of these days
}

// Limits of cached cubes.
const (
	cubeLife       = 15 * time.Second
	maxCubes       = 8
	maxCubeEntries = 200_000 // values and buckets of a cached cube
)

// flight is a cube that is being built. done is closed when cube and err are set.
type flight struct {
	done chan struct{}
	cube *cube
	err  error
}

// cube returns the counts of a range, built now or cached. It contains dimension by if that is a
// custom property, and all other dimensions. Concurrent calls for the same cube share one build.
func (x *Explorer) cube(ctx context.Context, r Range, filters []Filter, by analytics.Dimension) (*cube, error) {
	if !strings.HasPrefix(string(by), Property) {
		by = "" // all others are always counted
	}
	key := cubeKey(r, filters, by)
	if x.watched != nil {
		key += "\x00" + strconv.FormatUint(x.watched.changes(r.Site), 10) // erased events must disappear at once
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
		} // the builder's context ended: build it here
	}
}

// lead builds a cube for all callers that wait for it.
func (x *Explorer) lead(ctx context.Context, key string, f *flight, r Range, filters []Filter, by analytics.Dimension) {
	f.err = context.Canceled // if makeCube panics, waiting callers build the cube themselves
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

// keep caches a cube if it is small enough, and evicts the oldest. x.mu must be held.
func (x *Explorer) keep(key string, c *cube) {
	for k, old := range x.cubes {
		if x.t.Now().Sub(old.made) >= cubeLife {
			delete(x.cubes, k)
		}
	}
	if c.entries() > maxCubeEntries {
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

// cubeKey identifies a question. The order of filters does not matter.
func cubeKey(r Range, filters []Filter, by analytics.Dimension) string {
	parts := []string{r.Site, r.From, r.To, string(by)}
	for _, f := range filters {
		parts = append(parts, f.identity())
	}
	slices.Sort(parts[4:])
	return strings.Join(parts, "\x00")
}

func (x *Explorer) makeCube(ctx context.Context, r Range, filters []Filter, by analytics.Dimension) (*cube, error) {
	s, err := x.scan(ctx, r, filters)
	if err != nil {
		return nil, err
	}
	c := &cube{scan: s, made: x.t.Now()}
	past := x.pastOf(s, cubeKey(r, filters, by))
	sums, found, err := x.resume(s, &past)
	if err != nil {
		return nil, err
	}
	if c.sums = sums; !found {
		c.sums = newSums(by, x.o.Values)
	}
	err = s.each(ctx, func(day string, d *columns) error {
		x.settle(&past, day, &c.sums)
		c.count(day, d, d.chosen(s.conditions))
		return ctx.Err()
	})
	if err == nil {
		x.settle(&past, "", &c.sums)
	}
	s.conditions = nil // a cached cube must not retain what behavioral filters know of every user
	return c, err
}

// newSums returns empty counts for all periods and dimensions, and for by if it is a custom property.
// Each dimension has at most most values.
func newSums(by analytics.Dimension, most int) sums {
	c := sums{periods: map[analytics.Period]*counter{}, values: map[analytics.Dimension]*valueCounter{}}
	for _, p := range []analytics.Period{analytics.Hour, analytics.Day, analytics.Month} {
		c.periods[p] = &counter{period: p, buckets: map[string]*counts{}}
	}
	dimensions := slices.Clone(analytics.Dimensions)
	if by != "" {
		dimensions = append(dimensions, by)
	}
	for _, d := range dimensions {
		if f, known := facetOf(d); known {
			c.values[d] = &valueCounter{facet: f, most: most, values: map[string]*valueCount{}}
		}
	}
	return c
}

// entries returns the number of values and buckets.
func (c *sums) entries() (n int) {
	for _, p := range c.periods {
		n += len(p.buckets)
	}
	for _, v := range c.values {
		n += len(v.values)
	}
	return n
}

// tally holds the selected visits of one day.
type tally struct {
	*columns
	name   string
	chosen []int    // selected visits, in order
	sums   []counts // sums of their events, parallel to chosen
	before int64    // at least the number of visits on earlier days
}

// count counts the selected visits of a day. Periods and dimensions are counted concurrently.
func (c *sums) count(name string, d *columns, chosen []int) {
	day := &tally{columns: d, name: name, chosen: chosen, sums: make([]counts, len(chosen)), before: c.visits}
	c.visits += int64(len(d.visitor))
	c.read += d.read
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
	_ = g.Wait() // none returns an error
}
