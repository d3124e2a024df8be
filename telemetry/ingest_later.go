package telemetry

import (
	"context"
	"time"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/internal/spool"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/table/writebehind"
)

// The kinds of records in a spool.
const (
	spooledReading    = 'r'
	spooledQuarantine = 'q'
)

// staleFor is how long a collector with a spool keeps using settings that it cannot reload.
const staleFor = 24 * time.Hour

// keepIn makes the collector spool readings that cannot be stored.
func (c *Collector) keepIn(s *spool.Spool) {
	if s == nil {
		return
	}
	c.queue = &writebehind.Queue{Spool: s, Kind: spooledReading, Owner: table.AttrPK, Table: c.t, Create: c.createNumbered}
	c.apart = &writebehind.Queue{Spool: s, Kind: spooledQuarantine, Owner: table.AttrPK, Table: c.t, Create: Quarantine.CreateItems}
	c.devices.stale = staleFor
}

// Sinks returns the subscribers that store spooled readings, for a spool.Drain.
func (c *Collector) Sinks() map[byte]spool.Sink {
	if c.queue == nil {
		return nil
	}
	return map[byte]spool.Sink{spooledReading: c.queue.Sink, spooledQuarantine: c.apart.Sink}
}

// storeOrKeep stores a batch, or spools it while the store is unreachable or earlier readings are
// still spooled. Imports are not spooled, because an importer can wait for the store.
func (c *Collector) storeOrKeep(ctx context.Context, b *batch, imported bool) error {
	if c.queue == nil || imported || !c.queue.Waiting() {
		err := c.quarantine(ctx, b)
		if err == nil {
			err = c.storeAll(ctx, b)
		}
		if c.queue == nil || imported || !dynamo.IsUnavailable(err) {
			return err
		}
	}
	if err := c.apart.Keep(ctx, len(b.apart), b.apartItem, func(n int) { b.outcomes[b.apartOf[n]] = b.apart[n].outcome() }); err != nil {
		return err
	}
	var left []int
	for n := range b.readings {
		if b.outcomes[b.of[n]].Status == "" { // else already stored, or too large
			left = append(left, n)
		}
	}
	items, of, err := c.store.PackItems(b.readings, left)
	if err != nil {
		return err
	}
	return c.queue.Keep(ctx, len(items), func(n int) (table.Item, error) { return items[n], nil }, func(n int) {
		for _, i := range of[n] {
			b.outcomes[b.of[i]] = Outcome{Status: Queued, At: b.readings[i].At}
		}
	})
}

// apartItem encodes a quarantined reading, or returns nil if it is stored already.
func (b *batch) apartItem(n int) (table.Item, error) {
	if b.outcomes[b.apartOf[n]].Status != "" {
		return nil, nil
	}
	return Quarantine.Encode(&b.apart[n])
}

func (q *Quarantined) outcome() Outcome {
	return Outcome{Status: Rejected, Reason: q.Reason, Quarantined: true, At: q.Claimed, Detail: keptApart}
}

// Device returns a device from the collector's cache, at most ten seconds old. Errors:
// table.ErrNotFound; those of the store.
func (c *Collector) Device(ctx context.Context, deviceID string) (Device, error) {
	s, err := c.devices.get(ctx, deviceID)
	if err != nil {
		return Device{}, err
	}
	if s == nil {
		return Device{}, table.ErrNotFound
	}
	return s.device, nil
}
