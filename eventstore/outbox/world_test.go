package outbox_test

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/outbox"
)

// recorder is a destination that accepts all events.
type recorder struct {
	mu     sync.Mutex
	events []outbox.Event
}

func (r *recorder) Send(_ context.Context, events []outbox.Event) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, slices.Clone(events)...)
	return len(events), nil
}

// feed returns events of the aggregates with the given IDs, in the order of a feed. The ID of an
// event is its aggregate, a dash and its number.
func feed(aggregates ...string) []eventstore.FeedEvent {
	seqs := map[string]int64{}
	var all []eventstore.FeedEvent
	for i, id := range aggregates {
		seqs[id]++
		all = append(all, feedEvent(int64(i+1), eventstore.Event{
			EventKey: key("order", id, seqs[id]), EventID: fmt.Sprintf("%s-%d", id, seqs[id]), EventType: "Changed", Payload: eventstore.Payload(fmt.Sprint(seqs[id])),
		}))
	}
	return all
}

func sameType(a, b any) bool { return fmt.Sprintf("%T", a) == fmt.Sprintf("%T", b) }
