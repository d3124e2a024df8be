package analytics

import (
	"context"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/onefold/onefold/internal/known"
	"github.com/onefold/onefold/table"
)

// knownEvents are the IDs of events that a collector knows to be stored, so that it need not store again what is sent again, and can say so. Whether
// one counts is not decided here: folds know which came first. It reads what was stored before its time, and notes what it stores
// itself; so where nobody else stores events, what it says is exact.
type knownEvents struct {
	*known.Facts[spanAt]
	t *table.Table
}

// spanAt is five minutes of one shard of a site.
type spanAt struct {
	siteID string
	shard  int
	start  int64
}

// newKnownEvents returns an empty set of known events that keeps at most the given number of IDs; 0: two million.
func newKnownEvents(t *table.Table, most int) knownEvents {
	return knownEvents{known.New(known.Options[spanAt]{
		Stored: func(ctx context.Context, at spanAt) ([]known.ID, error) { return storedEvents(ctx, t, at) },
		Begins: func(at spanAt) int64 { return at.start - maxFuture.Milliseconds() },
		Since:  t.Now(), Most: most,
	}), t}
}

// id returns the event's ID, or zero if EventID is no ULID. Ingest refuses such events.
func (e *Event) id() ulid.ULID {
	id, _ := ulid.ParseStrict(e.EventID) //nolint:errcheck // see above
	return id
}

func placeOf(e *Event) spanAt { return spanAt{e.SiteID, e.Shard, spanOf(timeIn(e.EventID))} }

// claim sorts the events with the given indexes into known, fresh and under way.
func (k *knownEvents) claim(ctx context.Context, events []Event, at []int) (*known.Claim[spanAt], error) {
	return k.Claim(ctx, at, func(i int) (spanAt, known.ID) { return placeOf(&events[i]), events[i].id() })
}

// note notes that the events of a block are stored. It ignores a block that cannot be read.
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

// storedEvents reads the IDs of the events of a span. It leaves out damaged blocks: should their events be sent again, they are stored
// again, and counted once.
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

// there reports for each event whether it is stored.
func (k *knownEvents) there(ctx context.Context, events []Event) ([]bool, error) {
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
