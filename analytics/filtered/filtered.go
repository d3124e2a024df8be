// Package filtered counts filtered-out events per site and day: bots by category, AI crawlers by
// name, and others by reason. A filtered-out event is not a fact and is not stored, so its counts
// cannot be folded. Instead, a Counter adds them up in memory and writes them every ten seconds. A
// process that is killed loses the last ten seconds.
package filtered

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/onefold/onefold/table"
)

// DayKey names the counts of a site's day, YYYY-MM-DD in the site's time zone.
type DayKey struct {
	SiteID string `dynamodbav:"siteId"`
	Day    string `dynamodbav:"day"`
}

// Day counts the events that were filtered out in a day.
type Day struct {
	DayKey
	Bots      map[string]int64 `dynamodbav:"bots,omitempty"`    // by category: crawler, library, monitor, …
	AI        map[string]int64 `dynamodbav:"ai,omitempty"`      // AI crawlers and agents, by name
	Others    map[string]int64 `dynamodbav:"reasons,omitempty"` // not bots, by reason
	ExpiresAt time.Time        `dynamodbav:"-"`                 // stored as ttl
}

// lifetime is how long a day's counts are kept: the default of daily statistics.
const lifetime = 2 * 365 * 24 * time.Hour

// Days holds the counts by site and day.
var Days = table.Define[Day, DayKey]("analytics.refusals", table.Def[Day]{
	PK: "SITE#{siteId}", SK: "REFUSED#{day}", Access: table.Access{Ingest: table.Rights{Reads: table.Whole, Puts: table.Whole}},
	Expires: func(d *Day) time.Time { return d.ExpiresAt },
	Doc:     "The number of events of a site that were filtered out in one day, by reason.",
})

// RangeIn selects the days in [From, To); an empty end is open.
type RangeIn struct {
	SiteID string `dynamodbav:"siteId"`
	From   string `dynamodbav:"from"`
	To     string `dynamodbav:"to"`
}

// ByDay queries the counts of a site by day.
var ByDay = table.NewQuery(Days, table.QueryDef[RangeIn]{
	ID: "W14", Question: "the filtered-out events of a site, by day",
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

// of returns the counts of a kind, and creates a nil map.
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

// flushEvery is how often a Counter writes. maxDays limits the days it holds between writes; events
// of further days are not counted.
const (
	flushEvery = 10 * time.Second
	maxDays    = 10_000
)

// A Counter counts filtered-out events. It is safe for concurrent use. mu protects pending.
type Counter struct {
	t *table.Table

	mu      sync.Mutex
	pending map[DayKey]*Day
}

// NewCounter returns a Counter for t. It writes only in Flush and Run.
func NewCounter(t *table.Table) *Counter { return &Counter{t: t, pending: map[DayKey]*Day{}} }

// Count counts n events. reason must be from a fixed list, never text that a sender chose, because
// the number of reasons in an item is not limited.
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

// Flush writes the counts. Counts that cannot be written are kept for the next flush. After an
// error, the remaining days are kept without further writes.
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
	return fmt.Errorf("filtered: flush: %w", failed)
}

// add adds counts to the stored ones.
func add(ctx context.Context, t *table.Table, day *Day) error {
	expires := t.Now().Add(lifetime)
	for { // terminates: either the item exists and is modified, or somebody creates it
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

// Run flushes every ten seconds, and a last time when ctx ends. Errors are passed to tell, and the
// counts are written later.
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
