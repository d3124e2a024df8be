package analytics

import (
	"context"
	"time"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/internal/gather"
)

const (
	togetherMost = 256
	togetherRuns = 2                // so that one is prepared while another waits for the disk
	togetherFor  = 30 * time.Second // how long storing one batch may take
)

// stored is what became of an event; the status is empty if that is not known, because of err.
type stored struct {
	status Status
	err    error
}

// newTogether makes of events that come one by one, but at the same time, batches for stores that are quicker with
// those; nil for others, where each would wait for the slowest of its batch.
func (c *Collector) newTogether() *gather.Group[Event, stored] {
	if _, ok := c.t.API().(dynamo.Putter); !ok {
		return nil
	}
	return gather.New(togetherMost, togetherRuns, func(ctx context.Context, events []Event) []stored {
		ctx, cancel := context.WithTimeout(ctx, togetherFor)
		defer cancel()
		became := make([]stored, len(events))
		err := c.store(ctx, events, func(i int, status Status) { became[i].status = status })
		for i := range became {
			if became[i].status == "" {
				became[i].err = err
			}
		}
		return became
	})
}

// storeAny writes events and tells what became of each, a single one together with those of other callers.
func (c *Collector) storeAny(ctx context.Context, events []Event, tell func(i int, status Status)) error {
	if len(events) != 1 || c.together == nil {
		return c.store(ctx, events, tell)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	became := c.together.Do(ctx, events[0])
	if became.err == nil {
		tell(0, became.status)
	}
	return became.err
}
