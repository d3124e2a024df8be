package eventstore

import (
	"context"
	"iter"

	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/table"
)

// Appended is an event from the change stream.
type Appended struct {
	Event
	Page int64 // first event of its page
}

// approximate memory of a decoded event
const appendedBytes = 1 << 10

// Appends are the events that changes of heads add, for folds. An append that was too large for the
// head only adds its last events there; DirectAppends has the others.
var Appends = fold.Each(Heads, appendedBytes, func(c fold.Typed[Head]) (iter.Seq2[int, Appended], error) {
	if c.New == nil {
		return nothing, nil
	}
	after := int64(0)
	if c.Old != nil {
		after = c.Old.Version
	}
	return appendedBy(c.New.ID, c.New.First, c.New.Records, after)
})

// DirectAppends are the events of appends that were too large for the head, except the last ones.
var DirectAppends = fold.Each(Pages, appendedBytes, func(c fold.Typed[Page]) (iter.Seq2[int, Appended], error) {
	if c.New == nil || c.Old != nil || !c.New.Direct {
		return nothing, nil
	}
	return appendedBy(c.New.ID, c.New.First, c.New.Records, 0)
})

func nothing(func(int, Appended) bool) {}

// appendedBy yields the events of records after a number.
func appendedBy(id ID, page int64, records []Record, after int64) (iter.Seq2[int, Appended], error) {
	var events []Event
	for _, r := range records {
		info, err := r.Info()
		if err != nil {
			return nil, err
		}
		if info.Last() <= after {
			continue
		}
		if events, err = r.Events(id, events); err != nil {
			return nil, err
		}
	}
	return func(yield func(int, Appended) bool) {
		for i := range events {
			if events[i].Seq > after && !yield(int(events[i].Seq-page), Appended{events[i], page}) {
				return
			}
		}
	}, nil
}

// TypeIndexFold returns the fold that writes the index by event type, for a fold.Worker in any number
// of processes. An entry is a function of its event, so it may be written again.
func TypeIndexFold() *fold.Fold {
	add := func(a *Appended, at func(struct{}) *[]TypeEntry) error {
		into := at(struct{}{})
		*into = append(*into, a.entry())
		return nil
	}
	return fold.Observe("eventstore.typeindex", func(ctx context.Context, t *table.Table, seen *[]TypeEntry) error {
		return TypeEntries.PutMany(ctx, t, *seen)
	}, fold.OnEach(Appends, add), fold.OnEach(DirectAppends, add))
}

func (a *Appended) entry() TypeEntry {
	e := EntryOf(&a.Event)
	e.Page = a.Page
	return e
}

// EntryOf returns the entry of an event in the index by type, without its page.
func EntryOf(e *Event) TypeEntry {
	return TypeEntry{TypeEntryKey: TypeEntryKey{e.EventType, e.Shard, e.EventID}, ID: e.ID, Seq: e.Seq}
}
