package analytics

import (
	"context"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/onefold/onefold/internal/known"
	"github.com/onefold/onefold/table"
)

// knownEvents caches the IDs of stored events, so that a collector can report duplicates without
// storing them again. Counting does not depend on it: folds decide which copy counts. It loads
// earlier IDs and notes what its collector stores: exact while no other process stores events.
type knownEvents struct {
	*known.Facts[spanAt]
	stored func(ctx context.Context, at spanAt) ([]known.ID, error)
}

// spanAt is a span of a site, in all shards: a resent event may be in another shard, because its
// visitor depends on the network.
type spanAt struct {
	siteID string
	start  int64
}

// newKnownEvents returns an empty cache of at most the given number of IDs; 0: two million.
func newKnownEvents(t *table.Table, sites *siteCache, most int) knownEvents {
	stored := func(ctx context.Context, at spanAt) ([]known.ID, error) {
		s, err := sites.get(ctx, at.siteID)
		if err != nil {
			return nil, err
		}
		return storedEvents(ctx, t, &s.site, at.start)
	}
	return knownEvents{known.New(known.Options[spanAt]{
		Stored: stored,
		Begins: func(at spanAt) int64 { return at.start - maxFuture.Milliseconds() },
		Since:  t.Now(), Most: most,
	}), stored}
}

// id returns the event's ID, or zero if EventID is no ULID. Ingest rejects such events.
func (e *Event) id() ulid.ULID {
	id, _ := ulid.ParseStrict(e.EventID) //nolint:errcheck // see above
	return id
}

func placeOf(e *Event) spanAt { return spanAt{e.SiteID, spanOf(timeIn(e.EventID))} }

// claim divides the events at the given indexes into known, fresh and in progress.
func (k *knownEvents) claim(ctx context.Context, events []Event, at []int) (*known.Claim[spanAt], error) {
	return k.Claim(ctx, at, func(i int) (spanAt, known.ID) { return placeOf(&events[i]), events[i].id() })
}

// note marks the events of a block as stored. It ignores an unreadable block.
func (k *knownEvents) note(it table.Item) {
	b, err := Blocks.Decode(it)
	if err != nil {
		return
	}
	events, err := eventBlocks.Decode(nil, b.Body, eventIDs)
	if err != nil {
		return
	}
	ids := make([]known.ID, len(events))
	for i := range events {
		ids[i] = events[i].id()
	}
	k.Note(spanAt{b.SiteID, spanOf(timeIn(b.BlockID))}, ids)
}

// storedEvents loads the event IDs of a span. It skips damaged blocks: if their events are sent
// again, they are stored again and counted once.
func storedEvents(ctx context.Context, t *table.Table, site *Site, start int64) (ids []known.ID, err error) {
	var events []Event
	for b, err := range EventsBetween(site, time.UnixMilli(start), time.UnixMilli(start).Add(blockSpan), "").Blocks(ctx, t) {
		if err != nil {
			return nil, err
		}
		events, err = eventBlocks.Decode(events[:0], b.Body, eventIDs)
		if err != nil {
			continue
		}
		for i := range events {
			ids = append(ids, events[i].id())
		}
	}
	return ids, nil
}

// findStored reads from the store which events are stored.
func (k *knownEvents) findStored(ctx context.Context, events []Event) ([]bool, error) {
	there, read := make([]bool, len(events)), make(map[spanAt]map[known.ID]bool)
	for i := range events {
		at := placeOf(&events[i])
		if read[at] == nil {
			ids, err := k.stored(ctx, at)
			if err != nil {
				return nil, err
			}
			read[at] = make(map[known.ID]bool, len(ids))
			for _, id := range ids {
				read[at][id] = true
			}
		}
		there[i] = read[at][events[i].id()]
	}
	return there, nil
}
