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

// All yields the events ordered by ID, each once. If an event was sent again and stored twice, the
// copy that arrived first is yielded. Erased events are included. Errors: those of the store;
// ErrDamaged, unless Damaged is set.
func (in EventsIn) All(ctx context.Context, t *table.Table) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		m := merge{in: in}
		for b, err := range in.Blocks(ctx, t) {
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

// Blocks yields the blocks that may contain the events.
func (in EventsIn) Blocks(ctx context.Context, t *table.Table) iter.Seq2[Block, error] {
	ask := EventsByTime
	if in.VisitorID != "" {
		ask = SessionEvents
	}
	return ask.All(ctx, t, in.ask())
}

// ask returns the query for these blocks. A block's ID has only the time of its first event and is
// otherwise unrelated to event IDs: a block that begins in the last millisecond of the range may
// sort after in.To, so the end is rounded up.
func (in EventsIn) ask() BlocksIn {
	first, to := max(timeIn(in.From), 0), in.To
	if len(to) >= ulid.EncodedSize {
		if last := timeIn(to[:ulid.EncodedSize]); to != FirstID(time.UnixMilli(last)) {
			to = FirstID(time.UnixMilli(last + 1))
		}
	}
	return BlocksIn{SiteID: in.SiteID, From: FirstID(time.UnixMilli(spanOf(first))), To: to, Since: first, Shards: in.Shards}
}

// First returns the first event. Errors: table.ErrNotFound if there is none; those of All.
func (in EventsIn) First(ctx context.Context, t *table.Table) (Event, error) {
	for e, err := range in.All(ctx, t) {
		return e, err
	}
	return Event{}, table.ErrNotFound
}

// endOfTime is later than all events, in epoch milliseconds.
const endOfTime = 1 << 48

// skips reports a damaged block to Damaged. It returns true if the block is to be skipped.
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

type merge struct {
	in   EventsIn
	open blockHeap
	last string // last ID that was yielded
}

type openBlock struct {
	events  []Event
	arrival string // orders blocks by arrival
}

// begin decodes a block and keeps the events in the requested range.
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

func (in EventsIn) wants(e *Event) bool {
	if e.EventID < in.From || in.To != "" && e.EventID >= in.To || in.VisitorID != "" && e.VisitorID != in.VisitorID {
		return false
	}
	return in.Kind == "" || (in.Kind == PageViewsOnly) == (e.Name == "")
}

// yield yields the events before the given time in epoch milliseconds, when the next block begins.
// It reports whether to continue.
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

// blockHeap orders blocks by their next event, and equal events by arrival.
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

// EventsIn selects events of a site in a time range. EventsBetween, for example, makes it.
type EventsIn struct {
	SiteID    string
	From      string // event IDs, half-open
	To        string
	Shards    []int
	Kind      EventKind
	VisitorID string // "": all visitors
	// Damaged, if set, receives the errors of unreadable blocks, which are then skipped.
	Damaged func(error)
}

// EventsBetween selects the events of a site with times in [from, to).
func EventsBetween(site *Site, from, to time.Time, kind EventKind) EventsIn {
	return EventsIn{SiteID: site.SiteID, From: FirstID(from), To: FirstID(to), Shards: site.Sharding.Over(from, to), Kind: kind}
}

// OneEvent selects one event.
func OneEvent(k EventKey) EventsIn {
	return EventsIn{SiteID: k.SiteID, From: k.EventID, To: k.EventID + "0", Shards: []int{k.Shard}}
}

// EventsOfSession selects the events in a session's time range. If sessions of the visitor overlap
// (the client sent session IDs), tell their events apart by Event.SessionID.
func EventsOfSession(site *Site, s *Session) EventsIn {
	in := EventsBetween(site, time.UnixMilli(s.Start), time.UnixMilli(s.End+1), "")
	in.VisitorID = s.VisitorID
	return in
}
