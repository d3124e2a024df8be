// Package refusals counts the events that were turned away, per site and day: those of bots by what they are, those of
// language models' crawlers by name, and others by reason. A refused event is no fact and is not stored, so these counts
// are not folded: a Counter adds them up in memory and writes them now and then. A process that is killed loses those of
// the last ten seconds. Only server counts; analytics knows the entity as one of a site's.
package refusals

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/onefold/onefold/table"
)

// DayKey names the refusals of a site's day, YYYY-MM-DD in the site's time zone.
type DayKey struct {
	SiteID string `dynamodbav:"siteId"`
	Day    string `dynamodbav:"day"`
}

// Day counts the events that were turned away in a day.
type Day struct {
	DayKey
	Bots      map[string]int64 `dynamodbav:"bots,omitempty"`    // by what they are: crawler, library, monitor, …
	AI        map[string]int64 `dynamodbav:"ai,omitempty"`      // language models' crawlers and agents, by name
	Others    map[string]int64 `dynamodbav:"reasons,omitempty"` // not of bots, by reason
	ExpiresAt time.Time        `dynamodbav:"-"`                 // stored as ttl
}

// lifetime is how long the counts of a day are kept: as long as a day's statistics are by default.
const lifetime = 2 * 365 * 24 * time.Hour

// Days are the refusals of sites' days.
var Days = table.Define[Day, DayKey]("analytics.refusals", table.Def[Day]{
	PK: "SITE#{siteId}", SK: "REFUSED#{day}",
	Expires: func(d *Day) time.Time { return d.ExpiresAt },
	Doc:     "How many events of one day of a site were turned away, and why.",
})

// RangeIn asks for the days from From up to, but without, To; an empty end is open.
type RangeIn struct {
	SiteID string `dynamodbav:"siteId"`
	From   string `dynamodbav:"from"`
	To     string `dynamodbav:"to"`
}

// ByDay are the refusals of a site by day.
var ByDay = table.NewQuery(Days, table.QueryDef[RangeIn]{
	ID: "W14", Question: "the events of a site that were turned away, by day",
	From: "REFUSED#{from}", To: "REFUSED#{to}",
	Load: table.Load{PerSecond: 0.01, Items: 30, ItemBytes: 400},
})

// Kind is one of the three groups of reasons.
type Kind uint8

// The kinds.
const (
	Other Kind = iota
	Bot
	AICrawler
)

// of is the counts of a kind; a nil map is made.
func (d *Day) of(k Kind) map[string]int64 {
	m := &d.Others
	switch k {
	case Bot:
		m = &d.Bots
	case AICrawler:
		m = &d.AI
	}
	if *m == nil {
		*m = map[string]int64{}
	}
	return *m
}

// Add adds another day's counts.
func (d *Day) Add(o *Day) {
	for _, k := range [...]Kind{Other, Bot, AICrawler} {
		into := d.of(k)
		for reason, n := range o.of(k) {
			into[reason] += n
		}
	}
}

// flushEvery is how often a Counter writes, and maxDays how many days of sites it holds in between: what comes for
// more is not counted.
const (
	flushEvery = 10 * time.Second
	maxDays    = 10_000
)

// A Counter counts refusals. It is safe for concurrent use.
type Counter struct {
	t *table.Table

	mu      sync.Mutex
	pending map[DayKey]*Day
}

// NewCounter makes a Counter that writes to t, when it is told to.
func NewCounter(t *table.Table) *Counter { return &Counter{t: t, pending: map[DayKey]*Day{}} }

// Count counts n refused events. reason is one of a closed list, never a text that a sender chose.
func (c *Counter) Count(day DayKey, k Kind, reason string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	d := c.pending[day]
	if d == nil {
		if len(c.pending) >= maxDays {
			return
		}
		d = &Day{DayKey: day}
		c.pending[day] = d
	}
	d.of(k)[reason] += int64(n)
}

// Flush writes what was counted. What cannot be written is kept for the next time.
func (c *Counter) Flush(ctx context.Context) error {
	c.mu.Lock()
	taken := c.pending
	c.pending = map[DayKey]*Day{}
	c.mu.Unlock()
	var failed error
	for key, day := range taken {
		err := failed
		if err == nil {
			err = add(ctx, c.t, day)
		}
		if err == nil {
			delete(taken, key)
			continue
		}
		failed = err
	}
	if failed == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, day := range taken {
		if newer := c.pending[key]; newer != nil {
			day.Add(newer)
		}
		c.pending[key] = day
	}
	return fmt.Errorf("refusals: flush: %w", failed)
}

// add adds counts to those that are stored.
func add(ctx context.Context, t *table.Table, day *Day) error {
	expires := t.Now().Add(lifetime)
	for { // ends: an item that is there is modified, and one that is not is created, by us or by another
		_, err := Days.Modify(ctx, t, day.DayKey, func(d *Day) error {
			d.Bots, d.AI, d.Others = maps.Clone(d.Bots), maps.Clone(d.AI), maps.Clone(d.Others)
			d.Add(day)
			d.ExpiresAt = expires
			return nil
		})
		if !errors.Is(err, table.ErrNotFound) {
			return err
		}
		fresh := *day
		fresh.ExpiresAt = expires
		if err = Days.Create(ctx, t, &fresh); !errors.Is(err, table.ErrExists) {
			return err
		}
	}
}

// Run writes every ten seconds until ctx ends, and once more then. Failures are told, and tried again.
func (c *Counter) Run(ctx context.Context, tell func(error)) {
	ticker := time.NewTicker(flushEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			if err := c.Flush(ctx); err != nil && ctx.Err() == nil {
				tell(err)
			}
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushEvery)
			defer cancel()
			if err := c.Flush(last); err != nil {
				tell(err)
			}
			return
		}
	}
}
