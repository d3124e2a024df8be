package analytics

import (
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/onefold/onefold/fold"
)

// EventChange is what a change of a block does to one of its events: it is new, or now Old is New. What is deleted is not counted off
// again: most events are deleted when they have lived long enough, and not every store tells why.
type EventChange struct {
	Old, New *Event
	At       time.Time // about when the change was committed
}

// factBytes is what an event takes in memory, about.
const factBytes = 900

// eventFacts are the events of blocks, each of which counts once however often it was sent.
func eventFacts() *fold.Facts[EventChange] {
	return fold.Once(fold.Each(Blocks, factBytes, changesOf), Windows, blockSpan, nameOf, windowOf)
}

// changesOf are the events that a change of a block changes.
func changesOf(c fold.Typed[Block]) (iter.Seq2[int, EventChange], error) {
	var before, after []Event
	var err error
	if c.New != nil {
		after, err = c.New.Events()
	}
	if err == nil && c.New != nil && c.Old != nil {
		before, err = c.Old.Events()
	}
	if err != nil {
		return nil, err
	}
	return func(yield func(int, EventChange) bool) {
		for i := range after {
			e := &after[i]
			change := EventChange{New: e, At: c.At}
			if c.Old != nil {
				change.Old = find(before, e.EventID)
				if change.Old == nil || change.Old.Erased == e.Erased && slices.Equal(change.Old.Goals, e.Goals) {
					continue
				}
			}
			if !yield(i, change) {
				return
			}
		}
	}, nil
}

// find returns the event with an ID, of events in order; nil if there is none.
func find(events []Event, id string) *Event {
	i, found := slices.BinarySearchFunc(events, id, func(e Event, id string) int { return strings.Compare(e.EventID, id) })
	if !found {
		return nil
	}
	return &events[i]
}

// knownLonger is how much longer it is known than a block is kept that its events have come.
const knownLonger = 24 * time.Hour

func nameOf(c *EventChange) (fold.FactID, bool) {
	id, err := ulid.ParseStrict(c.New.EventID)
	name := fold.FactID{ID: id, At: int64(id.Time())}
	if at := c.New.ExpiresAt; !at.IsZero() {
		name.Until = at.Add(knownLonger).Unix()
	}
	return name, err == nil
}

func windowOf(c *EventChange, span, part string) Window {
	return Window{WindowKey: WindowKey{c.New.SiteID, c.New.Shard, span, part}}
}
