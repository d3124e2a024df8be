package analytics

import (
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/onefold/onefold/fold"
)

// EventChange is a block's change seen from one event: New is new, or Old became New. Deletions are
// left out, because most events are deleted when they expire and must stay counted.
type EventChange struct {
	Old, New *Event
	At       time.Time // approximate commit time of the change
}

const factBytes = 900

// eventFacts yields the changes of events in blocks. A resent event counts once.
func eventFacts() *fold.Facts[EventChange] {
	return fold.Once(fold.Each(Blocks, factBytes, changesOf), Windows, blockSpan, nameOf, windowOf)
}

// changesOf yields the changes of events within a change of a block.
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

// find returns the event with the given ID from sorted events, or nil.
func find(events []Event, id string) *Event {
	i, found := slices.BinarySearchFunc(events, id, func(e Event, id string) int { return strings.Compare(e.EventID, id) })
	if !found {
		return nil
	}
	return &events[i]
}

// knownLonger is how long windows remember event IDs after their events expired.
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
