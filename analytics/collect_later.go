package analytics

import (
	"context"
	"errors"
	"reflect"
	"time"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/internal/calendar"
	"github.com/onefold/onefold/internal/spool"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/table/writebehind"
)

// spooledEvent is the kind of events in a spool.
const spooledEvent = 'e'

// staleFor is how long a collector that keeps events goes by the settings that it read last, while the store is away.
const staleFor = 24 * time.Hour

// keepIn lets the collector keep events that cannot be stored.
func (c *Collector) keepIn(s *spool.Spool) {
	if s == nil {
		return
	}
	c.queue = &writebehind.Queue{Spool: s, Kind: spooledEvent, Owner: "siteId", Table: c.t, Create: c.createKept}
	c.sites.stale = staleFor
}

// createKept stores blocks that were kept, and notes which events are stored now.
func (c *Collector) createKept(ctx context.Context, t *table.Table, items []table.Item, atOnce int) []error {
	errs := Blocks.CreateItems(ctx, t, items, atOnce)
	for i, err := range errs {
		if err == nil || errors.Is(err, table.ErrExists) {
			c.known.note(items[i])
		}
	}
	return errs
}

// Sinks store what was kept, for a spool.Drain.
func (c *Collector) Sinks() map[byte]spool.Sink {
	if c.queue == nil {
		return nil
	}
	return map[byte]spool.Sink{spooledEvent: c.queue.Sink}
}

// storeOrKeep stores events, or keeps them while the store is away and while others wait that came before. What is kept is
// the event as it would be stored: its visitor's id is made, and address and user agent are forgotten. Imports are not kept:
// whoever imports waits for the store.
func (c *Collector) storeOrKeep(ctx context.Context, events []Event, imported bool, tell func(i int, status Status)) error {
	if c.queue == nil || imported || len(events) == 0 {
		return c.storeAny(ctx, events, tell)
	}
	told := make([]bool, len(events))
	if !c.queue.Waiting() {
		err := c.storeAny(ctx, events, func(i int, status Status) {
			told[i] = true
			tell(i, status)
		})
		if !dynamo.IsUnavailable(err) {
			return err
		}
	}
	var left []int
	seen := make(map[string]bool)
	for i := range events {
		switch id := events[i].EventID; {
		case told[i]:
		case seen[id]:
			tell(i, Queued)
		default:
			seen[id] = true
			left = append(left, i)
		}
	}
	blocks, err := pack(events, left, c.t.Now())
	if err != nil {
		return err
	}
	return c.queue.Keep(ctx, len(blocks), func(n int) (table.Item, error) { return Blocks.Encode(&blocks[n].Block) }, func(n int) {
		for _, i := range blocks[n].of {
			tell(i, Queued)
		}
	})
}

// prepare reads what events will need that come while the store is away, even after midnight: the salts of today and
// tomorrow. What fails is read when an event needs it, and whoever sent that event hears of it.
func (s *siteState) prepare(ctx context.Context, t *table.Table) {
	today := s.cal.Day(t.Now())
	for n, day := range []string{today, calendar.ShiftDay(today, 1)} {
		number := dayNumber(t.Now(), s.cal.Minutes(t.Now())) + int64(n)
		_, _ = s.day(siteDay{number, false}).get(func() (*dayVisitors, error) { return s.visitorsOf(ctx, t, day, false) })
	}
}

// saltsKept is how many days after its own a salt is taken over from older settings: never longer than it is stored.
const saltsKept = int64(saltLifetime/(24*time.Hour)) - 1

// adopt takes the salts over that older settings of the same site have read, and over how many shards visitors are spread,
// unless that has changed.
func (s *siteState) adopt(older *siteState, now time.Time) {
	if older == nil || !s.site.CreatedAt.Equal(older.site.CreatedAt) || !reflect.DeepEqual(s.site.Sharding, older.site.Sharding) {
		return
	}
	today := dayNumber(now, s.cal.Minutes(now))
	older.mu.RLock()
	defer older.mu.RUnlock()
	for day, state := range older.days {
		if !day.imported && day.number >= today-saltsKept {
			s.days[day] = state
		}
	}
}
