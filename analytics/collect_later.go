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

const spooledEvent = 'e'

// staleFor is how long a collector with a spool keeps using settings that it cannot reload.
const staleFor = 24 * time.Hour

// keepIn makes the collector spool events that cannot be stored.
func (c *Collector) keepIn(s *spool.Spool) {
	if s == nil {
		return
	}
	c.queue = &writebehind.Queue{Spool: s, Kind: spooledEvent, Owner: "siteId", Table: c.t, Create: c.createKept}
	c.sites.stale = staleFor
}

// createKept stores spooled blocks and notes their events as known.
func (c *Collector) createKept(ctx context.Context, t *table.Table, items []table.Item, atOnce int) []error {
	errs := Blocks.CreateItems(ctx, t, items, atOnce)
	for i, err := range errs {
		if err == nil || errors.Is(err, table.ErrExists) {
			c.known.note(items[i])
		}
	}
	return errs
}

// Sinks returns the subscribers that store spooled events, for a spool.Drain.
func (c *Collector) Sinks() map[byte]spool.Sink {
	if c.queue == nil {
		return nil
	}
	return map[byte]spool.Sink{spooledEvent: c.queue.Sink}
}

// storeOrKeep stores events, or spools them while the store is unreachable or earlier events are
// still spooled. The spool holds the event as it would be stored: with its visitor ID, without
// address and user agent. Imports are not spooled, because an importer can wait for the store.
func (c *Collector) storeOrKeep(ctx context.Context, events []Event, imported bool, report func(i int, status Status)) error {
	if c.queue == nil || imported || len(events) == 0 {
		return c.storeAny(ctx, events, report)
	}
	told := make([]bool, len(events))
	if !c.queue.Waiting() {
		err := c.storeAny(ctx, events, func(i int, status Status) {
			told[i] = true
			report(i, status)
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
			report(i, Queued)
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
			report(i, Queued)
		}
	})
}

// prepare loads the salts of today and tomorrow, so that events can be accepted while the store is
// unreachable, even after midnight. Errors are ignored: the event that needs a salt loads it again.
func (s *siteState) prepare(ctx context.Context, t *table.Table) {
	today := s.cal.Day(t.Now())
	for n, day := range []string{today, calendar.ShiftDay(today, 1)} {
		number := dayNumber(t.Now(), s.cal.Minutes(t.Now())) + int64(n)
		_, _ = s.day(siteDay{number, false}).get(func() (*dayVisitors, error) { return s.visitorsOf(ctx, t, day, false) })
	}
}

// saltsKept is how many days after its own a salt is adopted: at most as long as it is stored.
const saltsKept = int64(saltLifetime/(24*time.Hour)) - 1

// adopt copies the salts and visitor shard counts that older settings of the same site have loaded,
// unless the site was recreated or its sharding changed.
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
