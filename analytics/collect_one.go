package analytics

import (
	"context"
	"time"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/internal/groupcommit"
)

const (
	togetherMost = 256
	togetherRuns = 2                // of a group, so that one is prepared while another waits for the network
	togetherFor  = 30 * time.Second // how long storing one batch may take
)

// stored is what became of an event; the status is empty if that is not known, because of err.
type stored struct {
	status Status
	err    error
}

// separately is the number of groups into which single events are divided by site where the store is behind a network. A site whose
// partition is throttled delays only the sites of its own group.
const separately = 64

// newTogether makes of events that come one by one, but at the same time, batches. They share blocks, and on the embedded engine a commit.
func (c *Collector) newTogether(linger time.Duration) groupcommit.Groups[Event, stored] {
	groups, runs := separately, togetherRuns
	if _, embedded := c.t.API().(dynamo.Putter); embedded {
		groups, runs, linger = 1, 1, 0 // one commit at a time: two would be half as large, and cost a third more in all
	}
	return groupcommit.NewGroups(groups, togetherMost, runs, linger, c.storeTogether)
}

func (c *Collector) storeTogether(ctx context.Context, events []Event) []stored {
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
}

// storeAny writes events and tells what became of each, a single one together with those of other callers.
func (c *Collector) storeAny(ctx context.Context, events []Event, tell func(i int, status Status)) error {
	if len(events) != 1 {
		return c.store(ctx, events, tell)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	became := c.together.Do(ctx, events[0].SiteID, events[0])
	if became.err == nil {
		tell(0, became.status)
	}
	return became.err
}

// Waiting is how many single events wait to be stored together with others.
func (c *Collector) Waiting() int { return c.together.Waiting() }
