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
	t *table.Table
}

type spanAt struct {
	siteID string
	shard  int
	start  int64
}

// newKnownEvents returns an empty cache of at most the given number of IDs; 0: two million.
func newKnownEvents(t *table.Table, most int) knownEvents {
	return knownEvents{known.New(known.Options[spanAt]{
		Stored: func(ctx context.Context, at spanAt) ([]known.ID, error) { return storedEvents(ctx, t, at) },
		Begins: func(at spanAt) int64 { return at.start - maxFuture.Milliseconds() },
		Since:  t.Now(), Most: most,
	}), t}
}

// id returns the event's ID, or zero if EventID is no ULID. Ingest rejects such events.
func (e *Event) id() ulid.ULID {
	id, _ := ulid.ParseStrict(e.EventID) //nolint:errcheck // see above
	return id
}

func placeOf(e *Event) spanAt { return spanAt{e.SiteID, e.Shard, spanOf(timeIn(e.EventID))} }

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
	k.Note(spanAt{b.SiteID, b.Shard, spanOf(timeIn(b.BlockID))}, ids)
}

// storedEvents loads the event IDs of a span. It skips damaged blocks: if their events are sent
// again, they are stored again and counted once.
func storedEvents(ctx context.Context, t *table.Table, at spanAt) (ids []known.ID, err error) {
	in := EventsIn{SiteID: at.siteID, Shards: []int{at.shard}, From: FirstID(time.UnixMilli(at.start)), To: FirstID(time.UnixMilli(at.start).Add(blockSpan))}
	var events []Event
	for b, err := range in.blocks(ctx, t) {
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

func (k *knownEvents) findStored(ctx context.Context, events []Event) ([]bool, error) {
	there, read := make([]bool, len(events)), make(map[spanAt]map[known.ID]bool)
	for i := range events {
		at := placeOf(&events[i])
		if read[at] == nil {
			ids, err := storedEvents(ctx, k.t, at)
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
