package analytics

import (
	"cmp"
	"container/heap"
	"context"
	"iter"
	"slices"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/onefold/onefold/table"
)

// All yields the events in the order of their IDs, each once: of one that was sent again and stored twice, the one that arrived first.
// Those that are erased are among them. Errors: those of the store; ErrDamaged, unless Damaged is set.
func (in EventsIn) All(ctx context.Context, t *table.Table) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		m := merge{in: in}
		for b, err := range in.blocks(ctx, t) {
			if err != nil {
				yield(Event{}, err)
				return
			}
			if !m.yield(timeIn(b.BlockID), yield) {
				return
			}
			if err := m.begin(&b); err != nil && !in.skips(err) {
				yield(Event{}, err)
				return
			}
		}
		m.yield(endOfTime, yield)
	}
}

// blocks yields those that may have events that are asked for.
func (in EventsIn) blocks(ctx context.Context, t *table.Table) iter.Seq2[Block, error] {
	ask := EventsByTime
	if in.VisitorID != "" {
		ask = SessionEvents
	}
	return ask.All(ctx, t, in.ask())
}

// ask is the question for these blocks. A block is named by the time of its first event, and not by its ID: one that begins in the last
// millisecond of the range may be named beyond the end of it.
func (in EventsIn) ask() BlocksIn {
	first, to := max(timeIn(in.From), 0), in.To
	if len(to) >= ulid.EncodedSize {
		if last := timeIn(to[:ulid.EncodedSize]); to != FirstID(time.UnixMilli(last)) {
			to = FirstID(time.UnixMilli(last + 1))
		}
	}
	return BlocksIn{SiteID: in.SiteID, From: FirstID(time.UnixMilli(spanOf(first))), To: to, Since: first, Shards: in.Shards}
}

// First returns the first of the events. Errors: table.ErrNotFound when there is none; those of All.
func (in EventsIn) First(ctx context.Context, t *table.Table) (Event, error) {
	for e, err := range in.All(ctx, t) {
		return e, err
	}
	return Event{}, table.ErrNotFound
}

// endOfTime is beyond all events.
const endOfTime = 1 << 48

// skips reports whether a damaged block is left out, and says so.
func (in EventsIn) skips(err error) bool {
	if in.Damaged != nil {
		in.Damaged(err)
	}
	return in.Damaged != nil
}

// Collect returns all of the events.
func (in EventsIn) Collect(ctx context.Context, t *table.Table) (events []Event, err error) {
	for e, err := range in.All(ctx, t) {
		if err != nil {
			return nil, err
		}
		events = append(events, e)
	}
	return events, nil
}

// merge brings the events of several blocks in order.
type merge struct {
	in   EventsIn
	open blockHeap
	last string // the ID that was yielded last
}

// openBlock is what is left of a block.
type openBlock struct {
	events  []Event
	arrival string // orders blocks by arrival
}

// begin decodes a block. What comes of it later is in the range that is asked for.
func (m *merge) begin(b *Block) error {
	events, err := b.Events()
	if err != nil {
		return err
	}
	events = slices.DeleteFunc(events, func(e Event) bool { return !m.in.wants(&e) })
	if len(events) > 0 {
		heap.Push(&m.open, openBlock{events, b.BlockID[10:]})
	}
	return nil
}

// wants reports whether an event is asked for.
func (in EventsIn) wants(e *Event) bool {
	if e.EventID < in.From || in.To != "" && e.EventID >= in.To || in.VisitorID != "" && e.VisitorID != in.VisitorID {
		return false
	}
	return in.Kind == "" || (in.Kind == PageViewsOnly) == (e.Name == "")
}

// yield hands over what comes before a time in epoch milliseconds, at which the next block begins. It reports whether to go on.
func (m *merge) yield(until int64, yield func(Event, error) bool) bool {
	for len(m.open) > 0 {
		b := &m.open[0]
		e := b.events[0]
		if timeIn(e.EventID) >= until {
			return true
		}
		if b.events = b.events[1:]; len(b.events) == 0 {
			heap.Pop(&m.open)
		} else {
			heap.Fix(&m.open, 0)
		}
		if e.EventID == m.last {
			continue
		}
		m.last = e.EventID
		if !yield(e, nil) {
			return false
		}
	}
	return true
}

// blockHeap has the block with the least event first, and of those with the same event the one that arrived first.
type blockHeap []openBlock

func (h blockHeap) Len() int { return len(h) }
func (h blockHeap) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(h[i].events[0].EventID, h[j].events[0].EventID), cmp.Compare(h[i].arrival, h[j].arrival)) < 0
}
func (h blockHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *blockHeap) Push(b any)   { *h = append(*h, b.(openBlock)) }
func (h *blockHeap) Pop() any {
	old := *h
	b := old[len(old)-1]
	old[len(old)-1] = openBlock{}
	*h = old[:len(old)-1]
	return b
}

// EventsIn asks for the events of a site in a range of time. EventsBetween and EventsOfSession make it.
type EventsIn struct {
	SiteID    string
	From      string // event IDs, half-open
	To        string
	Shards    []int
	Kind      EventKind
	VisitorID string // "": of all
	// Damaged, if set, is told of blocks that cannot be read, which are left out.
	Damaged func(error)
}

// EventsBetween asks for the events of a site with times in [from, to).
func EventsBetween(site *Site, from, to time.Time, kind EventKind) EventsIn {
	return EventsIn{SiteID: site.SiteID, From: FirstID(from), To: FirstID(to), Shards: site.Sharding.Over(from, to), Kind: kind}
}

// OneEvent asks for one event.
func OneEvent(k EventKey) EventsIn {
	return EventsIn{SiteID: k.SiteID, From: k.EventID, To: k.EventID + "0", Shards: []int{k.Shard}}
}

// EventsOfSession asks for the events of a session of a site. Where a visitor's sessions overlap in time (session IDs of the client) they
// are told apart by Event.SessionID.
func EventsOfSession(site *Site, s *Session) EventsIn {
	in := EventsBetween(site, time.UnixMilli(s.Start), time.UnixMilli(s.End+1), "")
	in.VisitorID = s.VisitorID
	return in
}
