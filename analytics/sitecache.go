package analytics

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/onefold/onefold/analytics/internal/throttle"
	"github.com/onefold/onefold/analytics/internal/visitorid"
	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/internal/calendar"
	"github.com/onefold/onefold/internal/exclude"
	"github.com/onefold/onefold/internal/mask"
	"github.com/onefold/onefold/table"
)

const (
	siteLifetime = 10 * time.Second // how long a collector caches a site's settings
	// SettingsNotice is how long after a change of settings or goals all events use them.
	SettingsNotice = 2 * siteLifetime
	maxSites       = 10_000 // cached sites, including unknown IDs
	maxSalts       = 1_000  // cached days of a site
)

// siteCache caches sites, and reads evicted ones again.
type siteCache struct {
	t      *table.Table
	retry  throttle.Retry
	within time.Duration // time limit of a read; 0: only the caller's context
	stale  time.Duration // how long cached settings hold while the store is unreachable; 0: not at all

	mu    sync.Mutex
	sites map[string]*siteEntry
}

// siteEntry caches one site. Its lock makes concurrent callers share one read.
type siteEntry struct {
	mu    sync.Mutex
	state *siteState // nil: the site does not exist
	until time.Time
}

func newSiteCache(t *table.Table, retry throttle.Retry) *siteCache {
	return &siteCache{t: t, retry: retry, sites: make(map[string]*siteEntry)}
}

func (c *siteCache) forget(siteID string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.sites, siteID)
}

// entry returns the entry of a site. A new entry may evict any other.
func (c *siteCache) entry(siteID string) *siteEntry {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.sites[siteID]
	if e != nil {
		return e
	}
	if len(c.sites) >= maxSites {
		for other := range c.sites {
			delete(c.sites, other)
			break
		}
	}
	e = &siteEntry{}
	c.sites[siteID] = e
	return e
}

// get returns a site. Errors: ErrUnknownSite.
func (c *siteCache) get(ctx context.Context, siteID string) (*siteState, error) {
	if !validSiteID(siteID) {
		return nil, fmt.Errorf("%w: %q is not a valid site ID", ErrUnknownSite, siteID)
	}
	entry := c.entry(siteID)
	entry.mu.Lock()
	defer entry.mu.Unlock()
	if now := c.t.Now(); !now.Before(entry.until) {
		var state *siteState
		if c.within > 0 { // only now: creating a deadline costs more than a cache hit
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, c.within)
			defer cancel()
		}
		err := c.retry.Do(ctx, func() (err error) {
			state, err = c.load(ctx, siteID)
			return err
		})
		if err != nil && (!dynamo.IsUnavailable(err) || entry.state == nil || now.Sub(entry.until) >= c.stale) {
			return nil, err
		}
		if err == nil {
			c.renew(ctx, entry, state, now)
		}
	}
	if entry.state == nil {
		return nil, fmt.Errorf("%w: %q; create the site first", ErrUnknownSite, siteID)
	}
	return entry.state, nil
}

func (c *siteCache) renew(ctx context.Context, entry *siteEntry, state *siteState, now time.Time) {
	if c.stale > 0 && state != nil {
		state.adopt(entry.state, now)
		state.prepare(ctx, c.t)
	}
	entry.state, entry.until = state, now.Add(siteLifetime)
}

func (c *siteCache) load(ctx context.Context, siteID string) (*siteState, error) {
	site, err := GetSite(ctx, c.t, siteID)
	if errors.Is(err, table.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	excluded, err := site.Exclude.Compile()
	if err != nil {
		return nil, fmt.Errorf("analytics: site %s: %w", siteID, err)
	}
	masks, err := site.Mask.Compile()
	if err != nil {
		return nil, fmt.Errorf("analytics: site %s: %w", siteID, err)
	}
	goals, err := loadGoals(ctx, c.t, siteID)
	if err != nil {
		return nil, fmt.Errorf("analytics: goals of site %s: %w", siteID, err)
	}
	cal, err := calendar.LoadZone(site.TimeZone)
	return &siteState{site: site, cal: cal, goals: goals, excluded: excluded, masks: masks, retry: c.retry, days: map[siteDay]*dayState{}}, err
}

// siteState is a collector's view of a site. Only days changes, under mu.
type siteState struct {
	site     Site
	cal      calendar.Zone
	excluded *exclude.Matcher
	masks    *mask.Masker
	goals    Reach
	retry    throttle.Retry

	mu   sync.RWMutex
	days map[siteDay]*dayState
}

// siteDay is a day of the site, counted from 1970, and whether its events are imported.
type siteDay struct {
	number   int64
	imported bool
}

// dayState computes the visitor keys of one day. The first caller initializes it.
type dayState struct {
	mu   sync.Mutex // held during initialization
	made atomic.Pointer[dayVisitors]
}

// dayVisitors makes a day's visitor IDs and has the number of their shards.
type dayVisitors struct {
	ids    *visitorid.IDs
	shards int
}

func (s *siteState) addVisitor(ctx context.Context, t *table.Table, h *Hit, e *Event, at time.Time) error {
	visitors, err := s.day(siteDay{dayNumber(at, e.ZoneMinutes), h.Imported}).get(func() (*dayVisitors, error) {
		return s.visitorsOf(ctx, t, calendar.DayOf(at.UnixMilli(), e.ZoneMinutes), h.Imported)
	})
	if err != nil {
		return err
	}
	e.VisitorID = visitors.ids.Of(h.Address, h.UserAgent)
	e.Shard = table.Shard(e.VisitorID, s.site.Sharding.At(at))
	e.VisitorShard = table.Shard(e.VisitorID, visitors.shards)
	return nil
}

// dayNumber returns the day of a time in a zone, counted from 1970.
func dayNumber(at time.Time, zoneMinutes int) int64 {
	const dayMS = 24 * 60 * 60 * 1000
	local := at.UnixMilli() + int64(zoneMinutes)*60_000
	number := local / dayMS
	if local%dayMS < 0 {
		number--
	}
	return number
}

func (s *siteState) day(d siteDay) *dayState {
	s.mu.RLock()
	day := s.days[d]
	s.mu.RUnlock()
	if day != nil {
		return day
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if day = s.days[d]; day == nil {
		if len(s.days) >= maxSalts {
			clear(s.days)
		}
		day = &dayState{}
		s.days[d] = day
	}
	return day
}

// get returns the day's visitors; fill loads them on first use, and again after an error.
func (d *dayState) get(fill func() (*dayVisitors, error)) (*dayVisitors, error) {
	if made := d.made.Load(); made != nil {
		return made, nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if made := d.made.Load(); made != nil {
		return made, nil
	}
	made, err := fill()
	if err != nil {
		return nil, err
	}
	d.made.Store(made)
	return made, nil
}

// visitorsOf loads or creates the salt of a day. The shard count is that at the start of the day,
// so that a visitor's day is in one shard.
func (s *siteState) visitorsOf(ctx context.Context, t *table.Table, day string, imported bool) (*dayVisitors, error) {
	start, end, err := s.cal.Bounds(day)
	if err != nil {
		return nil, err
	}
	shards := s.site.Sharding.At(start)
	if imported {
		return &dayVisitors{visitorid.New(visitorid.ImportSalt(s.site.ImportKey, day)), shards}, nil
	}
	var salt []byte
	err = s.retry.Do(ctx, func() (err error) {
		salt, err = saltOf(ctx, t, SaltKey{s.site.SiteID, day}, end)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &dayVisitors{visitorid.New(salt), shards}, nil
}
