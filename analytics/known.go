package analytics

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/onefold/onefold/table"
)

// knownEvents are the IDs of events that a collector knows to be stored, so that it need not store again what is sent again, and can say so. Whether
// one counts is not decided here: folds know which came first. It reads what was stored before its time, and notes what it stores
// itself; so where nobody else stores events, what it says is exact.
type knownEvents struct {
	t     *table.Table
	since time.Time // when it began
	most  int       // IDs that are kept, as far as others need the room

	mu    sync.Mutex
	spans map[spanAt]*knownSpan
	ids   int
	turn  uint64
}

// maxKnown is how many IDs are kept by default, of some 30 bytes each.
const maxKnown = 2_000_000

// emptySpan is how many IDs take as much room as a span without any.
const emptySpan = 8

// spanAt is five minutes of one shard of a site.
type spanAt struct {
	siteID string
	shard  int
	start  int64
}

// knownSpan holds the IDs that are known to be stored in a span.
type knownSpan struct {
	ids      map[ulid.ULID]struct{}
	flights  map[ulid.ULID]flight // under way
	complete bool
	loading  flight // nil: nobody reads it
	claims   int    // that are being made: it must not be forgotten before they have noted their flights
	used     uint64
}

// depart notes that an event is being stored.
func (s *knownSpan) depart(id ulid.ULID, f flight) {
	if s.flights == nil {
		s.flights = make(map[ulid.ULID]flight)
	}
	s.flights[id] = f
}

// arrive removes id from flights. When none is left it drops the map, since a Go map keeps the memory of deleted entries.
func (s *knownSpan) arrive(id ulid.ULID) {
	if delete(s.flights, id); len(s.flights) == 0 {
		s.flights = nil
	}
}

// flight is closed when an event has been stored, or could not be.
type flight chan struct{}

// id returns the event's ID, or zero if EventID is no ULID. Ingest refuses such events.
func (e *Event) id() ulid.ULID {
	id, _ := ulid.ParseStrict(e.EventID) //nolint:errcheck // see above
	return id
}

func placeOf(e *Event) spanAt { return spanAt{e.SiteID, e.Shard, spanOf(timeIn(e.EventID))} }

// claim says which of some events a collector is to store.
type claim struct {
	k      *knownEvents
	events []Event
	fresh  []int          // nobody has them, or is about to
	known  []int          // they are there
	others map[int]flight // somebody is about to store them
	mine   flight
}

// claim sorts the events at the given places into known, fresh and under way. The caller must call end on the claim.
func (k *knownEvents) claim(ctx context.Context, events []Event, at []int) (*claim, error) {
	held, err := k.load(ctx, events, at)
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, s := range held {
		s.claims--
	}
	if err != nil {
		return nil, err
	}
	c := &claim{k: k, events: events, others: make(map[int]flight), mine: make(flight)}
	for _, i := range at {
		s, id := k.span(placeOf(&events[i])), events[i].id()
		if _, known := s.ids[id]; known {
			c.known = append(c.known, i)
		} else if f := s.flights[id]; f != nil {
			c.others[i] = f
		} else {
			s.depart(id, c.mine)
			c.fresh = append(c.fresh, i)
		}
	}
	return c, nil
}

// end notes which of the fresh events were stored.
func (c *claim) end(stored func(i int) bool) {
	k := c.k
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, i := range c.fresh {
		s, id := k.span(placeOf(&c.events[i])), c.events[i].id()
		s.arrive(id)
		if stored(i) {
			k.add(s, []ulid.ULID{id})
		}
	}
	k.evict()
	close(c.mine)
}

// rest waits until other callers have done with the events that they were storing, and returns the places of these events, to be claimed again.
func (c *claim) rest(ctx context.Context) (at []int, err error) {
	for i, f := range c.others {
		select {
		case <-f:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		at = append(at, i)
	}
	slices.Sort(at)
	return at, nil
}

// span returns what is known of a span. The caller holds the lock.
func (k *knownEvents) span(at spanAt) *knownSpan {
	s := k.spans[at]
	if s == nil {
		s = &knownSpan{ids: make(map[ulid.ULID]struct{})}
		s.complete = time.UnixMilli(at.start).After(k.since.Add(maxFuture))
		k.spans[at] = s
	}
	k.turn++
	s.used = k.turn
	return s
}

// full reports whether more is kept than there is room for. A span without IDs takes room, too.
func (k *knownEvents) full() bool { return k.room() > k.most }

// room returns how much is in use, counted in IDs.
func (k *knownEvents) room() int { return k.ids + emptySpan*len(k.spans) }

// evict forgets the least recently used spans. It frees a quarter of the room at once, because finding them means looking at every span.
func (k *knownEvents) evict() {
	if !k.full() {
		return
	}
	idle := make([]spanAt, 0, len(k.spans))
	for at, s := range k.spans {
		if len(s.flights) == 0 && s.loading == nil && s.claims == 0 {
			idle = append(idle, at)
		}
	}
	slices.SortFunc(idle, func(a, b spanAt) int { return cmp.Compare(k.spans[a].used, k.spans[b].used) })
	for _, at := range idle[:max(len(idle)-1, 0)] { // not the one that is in use
		if k.room() <= k.most-k.most/4 {
			return
		}
		s := k.spans[at]
		k.ids -= len(s.ids)
		delete(k.spans, at)
		if began := time.UnixMilli(at.start); began.After(k.since) {
			k.since = began // so that it is read when it is needed again
		}
	}
}

// load reads the spans of the events in full, and pins them so that they are not evicted. The caller must unpin every span that load
// returns, even if it also returns an error.
func (k *knownEvents) load(ctx context.Context, events []Event, at []int) (held []*knownSpan, err error) {
	last := spanAt{start: -1}
	for _, i := range at {
		place := placeOf(&events[i])
		if place == last {
			continue
		}
		last = place
		s, err := k.complete(ctx, place)
		if err != nil {
			return held, err
		}
		held = append(held, s)
	}
	return held, nil
}

// complete returns a span that has been read in full, pinned. It reads the span, unless another goroutine has or is doing so.
func (k *knownEvents) complete(ctx context.Context, at spanAt) (*knownSpan, error) {
	for {
		k.mu.Lock()
		s := k.span(at)
		if s.complete {
			s.claims++
			k.mu.Unlock()
			return s, nil
		}
		if f := s.loading; f != nil {
			k.mu.Unlock()
			select {
			case <-f:
				continue
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		s.loading = make(flight)
		k.mu.Unlock()
		ids, err := k.stored(ctx, at)
		k.mu.Lock()
		if err == nil {
			s.complete = true
			k.add(s, ids)
		}
		close(s.loading)
		s.loading = nil
		k.mu.Unlock()
		if err != nil {
			return nil, fmt.Errorf("analytics: read which events have come: %w", err)
		}
	}
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
	at := spanAt{b.SiteID, b.Shard, spanOf(timeIn(b.BlockID))}
	k.mu.Lock()
	defer k.mu.Unlock()
	ids := make([]ulid.ULID, len(events))
	for i := range events {
		ids[i] = events[i].id()
	}
	k.add(k.span(at), ids)
	k.evict()
}

// add notes IDs that are stored. The caller holds the lock.
func (k *knownEvents) add(s *knownSpan, ids []ulid.ULID) {
	before := len(s.ids)
	for _, id := range ids {
		s.ids[id] = struct{}{}
	}
	k.ids += len(s.ids) - before
}

// stored reads the IDs of the events of a span. It leaves out damaged blocks: should their events be sent again, they are stored
// again, and counted once.
func (k *knownEvents) stored(ctx context.Context, at spanAt) (ids []ulid.ULID, err error) {
	in := EventsIn{SiteID: at.siteID, Shards: []int{at.shard}, From: FirstID(time.UnixMilli(at.start)), To: FirstID(time.UnixMilli(at.start).Add(blockSpan))}
	var events []Event
	for b, err := range in.blocks(ctx, k.t) {
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
	there, read := make([]bool, len(events)), make(map[spanAt]map[ulid.ULID]bool)
	for i := range events {
		at := placeOf(&events[i])
		if read[at] == nil {
			ids, err := k.stored(ctx, at)
			if err != nil {
				return nil, err
			}
			read[at] = make(map[ulid.ULID]bool, len(ids))
			for _, id := range ids {
				read[at][id] = true
			}
		}
		there[i] = read[at][events[i].id()]
	}
	return there, nil
}
