package eventstore

import (
	"context"
	"iter"
)

// mostReplayed is the number of events that a replay holds at most.
const mostReplayed = 1000

// A replay has the events that the first command of a group has read, so that the others need not read
// and decode them again. A nil replay has none.
type replay struct {
	from, to int64 // to is 0 until the events were read
	events   []Event
}

// each yields the events of a stream from a number on: those that were read before, or else those of
// the store.
func (r *replay) each(ctx context.Context, s *Store, id ID, from int64) iter.Seq2[*Event, error] {
	switch {
	case r == nil:
		return s.each(ctx, id, reading{from: from})
	case r.to > 0 && from >= r.from && from <= r.to+1:
		return r.again(from)
	}
	return func(yield func(*Event, error) bool) {
		var events []Event
		last := from - 1
		for e, err := range s.each(ctx, id, reading{from: from}) {
			if err == nil {
				last = e.Seq
			}
			if len(events) <= mostReplayed {
				events = append(events, *e)
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
		if len(events) <= mostReplayed {
			r.from, r.to, r.events = from, last, events
		}
	}
}

// again yields the events that were read before, from a number on.
func (r *replay) again(from int64) iter.Seq2[*Event, error] {
	return func(yield func(*Event, error) bool) {
		for i := from - r.from; i < int64(len(r.events)); i++ {
			e := r.events[i] // a fold may change its event
			if !yield(&e, nil) {
				return
			}
		}
	}
}
