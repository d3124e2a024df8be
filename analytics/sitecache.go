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
	"github.com/onefold/onefold/table"
)

const (
	siteLifetime = 10 * time.Second // how long a collector goes by a site's settings
	// SettingsNotice is how long after a change of a site's settings or goals every event is stored by the new ones.
	SettingsNotice = 2 * siteLifetime
	maxSites       = 10_000 // sites, and names that are none, that a collector remembers
	maxSalts       = 1_000  // days of a site whose salts it holds at once
)

// siteCache remembers sites. What it forgets it reads again.
type siteCache struct {
	t      *table.Table
	retry  throttle.Retry
	within time.Duration // how long a read may take; 0: as long as whoever asks waits
	stale  time.Duration // how long what was read last holds while the store is away; 0: not at all

	mu    sync.Mutex
	sites map[string]*siteEntry
}

// siteEntry is a place for one site, so that many who ask at once read it once.
type siteEntry struct {
	mu    sync.Mutex
	state *siteState // nil: there is no such site
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

// entry returns the place of a site. A new one may take that of any other.
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
		return nil, fmt.Errorf("%w: %q cannot be a site's id", ErrUnknownSite, siteID)
	}
	entry := c.entry(siteID)
	entry.mu.Lock()
	defer entry.mu.Unlock()
	if now := c.t.Now(); !now.Before(entry.until) {
		var state *siteState
		if c.within > 0 { // only now: a deadline costs more than to find a site that is known
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
		return nil, fmt.Errorf("%w: %q: create it first", ErrUnknownSite, siteID)
	}
	return entry.state, nil
}

// renew notes what was read of a site.
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
	goals, err := loadGoals(ctx, c.t, siteID)
	if err != nil {
		return nil, fmt.Errorf("analytics: goals of site %s: %w", siteID, err)
	}
	cal, err := calendar.LoadZone(site.TimeZone)
	return &siteState{site: site, cal: cal, goals: goals, excluded: excluded, retry: c.retry, days: map[siteDay]*dayState{}}, err
}

// siteState is what a collector knows of a site. Only the days that it has seen change.
type siteState struct {
	site     Site
	cal      calendar.Zone
	excluded *exclude.Matcher
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

// dayState makes the visitor keys of one day. It is filled by the first who needs it.
type dayState struct {
	mu   sync.Mutex // held while it is filled
	made atomic.Pointer[dayVisitors]
}

// dayVisitors are the ids of a day's visitors, and the number of shards that they are spread over.
type dayVisitors struct {
	ids    *visitorid.IDs
	shards int
}

// addVisitor gives an event its visitor's key.
func (s *siteState) addVisitor(ctx context.Context, t *table.Table, h *Hit, e *Event, at time.Time) error {
	visitors, err := s.day(siteDay{dayNumber(at, e.ZoneMinutes), h.Imported}).get(func() (*dayVisitors, error) {
		return s.visitorsOf(ctx, t, calendar.DayOf(at.UnixMilli(), e.ZoneMinutes), h.Imported)
	})
	if err != nil {
		return err
	}
	e.VisitorID = visitors.ids.Of(h.Address, h.UserAgent)
	e.VisitorShard = table.Shard(e.VisitorID, visitors.shards)
	return nil
}

// dayNumber is the day of a time in a zone, counted from 1970.
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

// get returns what makes the day's visitor keys; fill makes it the first time, and again after an error.
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

// visitorsOf reads or makes the salt of a day, and says over how many shards its visitors are spread: as many as there
// were when it began, so that all of a visitor's day is in one.
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
