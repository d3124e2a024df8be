package explore

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/cespare/xxhash/v2"
)

// past names the completed days at the start of a question's range, which rarely change. Their counts
// are cached for longer than a cube, so that a dashboard that is refreshed every minute counts only the
// days after them.
type past struct {
	question string
	days     []string
	version  uint64 // hash of the days and of the versions of their events
	cached   bool
}

// pastSums are the counts of the past of a question. They are immutable.
type pastSums struct {
	sums
	version uint64
	used    int64 // value of pastCache.uses at the last access
}

// pastCache caches counts by question. Explorer.mu protects it.
type pastCache struct {
	uses int64
	of   map[string]*pastSums
}

// maxPastEntries limits the values and buckets of all cached pasts, to about 100 MB.
const maxPastEntries = 400_000

// pastOf returns the past of a question. It is empty if nothing can be cached: writes are not noticed,
// the first day is still changing, or filters depend on what users did on later days. Call it before
// events are read, so that later writes are noticed.
func (x *Explorer) pastOf(s *scan, question string) past {
	p, hash, ofUsers := past{question: question}, xxhash.New(), x.watched == nil
	collectBehaviors(s.conditions, func(*behavior) { ofUsers = true })
	for _, day := range s.days {
		from, to, err := s.cal.Bounds(day)
		if ofUsers || err != nil || x.t.Now().Before(to.Add(keptAfter)) {
			break
		}
		version, archived := s.archived[day]
		if !archived {
			version = x.watched.version(s.site.SiteID, from, to)
		}
		_, _ = fmt.Fprintln(hash, from.Unix(), to.Unix(), archived, version) // never fails
		p.days = append(p.days, day)
	}
	p.version = hash.Sum64()
	return p
}

// resume returns a copy of the cached counts of a past, and lets the question read only later days.
// Errors: ErrTooMuch.
func (x *Explorer) resume(s *scan, p *past) (c sums, found bool, err error) {
	x.mu.Lock()
	cached := x.pasts.get(p)
	x.mu.Unlock()
	if cached == nil {
		return c, false, nil
	}
	p.cached, s.done = true, len(p.days)
	return cached.clone(), true, s.took(cached.read)
}

// settle caches the counts of a past when all of its days are counted: before the first later day, or
// at the end, where day is "".
func (x *Explorer) settle(p *past, day string, c *sums) {
	if p.cached || len(p.days) == 0 || day != "" && day <= p.days[len(p.days)-1] {
		return
	}
	p.cached = true
	if c.entries() > maxCubeEntries {
		return
	}
	copied := &pastSums{sums: c.clone(), version: p.version}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.pasts.put(p.question, copied)
}

// get returns the counts of a past if its days and their events are still the same.
func (c *pastCache) get(p *past) *pastSums {
	cached := c.of[p.question]
	if cached == nil || cached.version != p.version || len(p.days) == 0 {
		return nil
	}
	c.uses++
	cached.used = c.uses
	return cached
}

// put caches counts, and evicts the least recently used ones until there is room.
func (c *pastCache) put(question string, p *pastSums) {
	delete(c.of, question)
	for len(c.of) >= maxCubes || len(c.of) > 0 && c.entries()+p.entries() > maxPastEntries {
		delete(c.of, slices.MinFunc(slices.Collect(maps.Keys(c.of)), func(a, b string) int {
			return cmp.Compare(c.of[a].used, c.of[b].used)
		}))
	}
	c.uses++
	p.used = c.uses
	c.of[question] = p
}

func (c *pastCache) entries() (n int) {
	for _, p := range c.of {
		n += p.entries()
	}
	return n
}

// clone returns a copy that can be counted on.
func (c *sums) clone() sums {
	out := *c
	out.periods, out.values = maps.Clone(c.periods), maps.Clone(c.values)
	for name, p := range out.periods {
		one := *p
		one.buckets = cloneAll(p.buckets)
		out.periods[name] = &one
	}
	for name, v := range out.values {
		one := *v
		one.values = cloneAll(v.values)
		out.values[name] = &one
	}
	return out
}

// cloneAll copies a map and what it points to, into one piece of memory.
func cloneAll[T any](of map[string]*T) map[string]*T {
	all := make([]T, 0, len(of))
	out := make(map[string]*T, len(of))
	for key, v := range of {
		all = append(all, *v)
		out[key] = &all[len(all)-1]
	}
	return out
}
