package analytics

import (
	"context"
	"time"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/internal/groupcommit"
)

const (
	batchMost    = 256
	batchRuns    = 2                // per group: one batch is prepared while another waits for the network
	batchTimeout = 30 * time.Second // time limit for storing one batch
)

// stored is the outcome of an event. An empty status means unknown, because of err.
type stored struct {
	status Status
	err    error
}

// separately is the number of groups of single events on a networked store. Sites are assigned by
// hash, so a throttled partition delays only the sites of its own group.
const separately = 64

// newBatcher returns groups that batch concurrent single events into shared blocks and commits.
func (c *Collector) newBatcher(linger time.Duration) groupcommit.Groups[Event, stored] {
	groups, runs := separately, batchRuns
	if _, embedded := c.t.API().(dynamo.Putter); embedded {
		groups, runs, linger = 1, 1, 0 // one commit at a time: two would be half as large and cost a third more in total
	}
	return groupcommit.NewGroups(groups, batchMost, runs, linger, c.storeBatch)
}

func (c *Collector) storeBatch(ctx context.Context, events []Event) []stored {
	ctx, cancel := context.WithTimeout(ctx, batchTimeout)
	defer cancel()
	became := make([]stored, len(events))
	err := c.store(ctx, events, func(i int, status Status) { became[i].status = status })
	for i := range became {
		if became[i].status == "" {
			became[i].err = err
		}
	}
	return became
}

// storeAny writes events and reports outcomes. A single event is batched with other callers'
// events.
func (c *Collector) storeAny(ctx context.Context, events []Event, report func(i int, status Status)) error {
	if len(events) != 1 {
		return c.store(ctx, events, report)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	became := c.batcher.Do(ctx, events[0].SiteID, events[0])
	if became.err == nil {
		report(0, became.status)
	}
	return became.err
}

// Waiting returns how many single events are waiting to be batched.
func (c *Collector) Waiting() int { return c.batcher.Waiting() }
