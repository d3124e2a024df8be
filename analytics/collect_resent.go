package analytics

import (
	"context"

	"github.com/onefold/onefold/dynamo"
)

// withoutResent returns the events without those of resent hits that are stored already, in
// whichever shard. Their outcomes are set. of has the hit of each event.
//
// While the store cannot be read, nothing is known, and events that a spool keeps go through.
func (c *Collector) withoutResent(ctx context.Context, s *siteState, hits []Hit, events []Event, of []int, outcomes []Outcome) ([]Event, []int, error) {
	var resent []Event
	var at []int
	for n := range events {
		if hits[of[n]].Resent {
			resent, at = append(resent, events[n]), append(at, n)
		}
	}
	if len(resent) == 0 || !c.mayMiss(s) {
		return events, of, nil
	}
	there, err := c.known.findStored(ctx, resent)
	if err != nil {
		if c.queue != nil && dynamo.IsUnavailable(err) {
			err = nil
		}
		return events, of, err
	}
	stored := make(map[int]bool, len(at))
	for i, n := range at {
		if there[i] {
			stored[n] = true
			outcomes[of[n]] = Outcome{EventID: events[n].EventID, Status: Duplicate}
		}
	}
	left := 0
	for n := range events {
		if !stored[n] {
			events[left], of[left] = events[n], of[n]
			left++
		}
	}
	clear(events[left:])
	return events[:left], of[:left], nil
}

// mayMiss reports whether a copy of an event that another server stored may be in another shard. An
// embedded engine has no other writer, so the cache knows all copies; with one shard, folds
// recognize them.
func (c *Collector) mayMiss(s *siteState) bool {
	_, embedded := c.t.API().(dynamo.Putter)
	return !embedded && len(s.site.Sharding.Over(s.site.CreatedAt, c.t.Now())) > 1
}
