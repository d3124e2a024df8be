package subscription

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/table"
)

// parkedSet are the parked events of a partition.
type parkedSet struct {
	of map[eventstore.ID][]int64 // their numbers, sorted
	n  int
}

func (s *parkedSet) has(k eventstore.EventKey) bool {
	_, found := slices.BinarySearch(s.of[k.ID], k.Seq)
	return found
}

// waits reports whether an event is parked, or must wait for an earlier one of its aggregate that is.
func (s *parkedSet) waits(e *eventstore.FeedEvent) bool {
	seqs := s.of[e.ID]
	return len(seqs) > 0 && seqs[0] <= e.Seq
}

func (s *parkedSet) add(k eventstore.EventKey) {
	if s.of == nil {
		s.of = map[eventstore.ID][]int64{}
	}
	if at, found := slices.BinarySearch(s.of[k.ID], k.Seq); !found {
		s.of[k.ID] = slices.Insert(s.of[k.ID], at, k.Seq)
		s.n++
	}
}

func (s *parkedSet) remove(k eventstore.EventKey) {
	at, found := slices.BinarySearch(s.of[k.ID], k.Seq)
	if !found {
		return
	}
	if s.n--; len(s.of[k.ID]) == 1 {
		delete(s.of, k.ID)
		return
	}
	s.of[k.ID] = slices.Delete(s.of[k.ID], at, at+1)
}

// park stores an event that cannot be handled. parked is false if there is no room.
func (c *consumer) park(ctx context.Context, e *eventstore.FeedEvent, reason string, attempts int) (parked bool, err error) {
	if c.parked.has(e.EventKey) {
		return true, nil
	}
	if c.parked.n >= c.o.MostParked {
		return false, nil
	}
	key := ParkedKey{Name: c.def.Name, Partition: c.at.Partition, Position: e.Position, EventKey: e.EventKey}
	p := Parked{ParkedKey: key, EventID: e.EventID, EventType: e.EventType, Reason: reason, Attempts: attempts, ParkedAt: c.t.Now().UTC()}
	tx := table.NewTx(c.t, "") // only of the consumer that has the partition: another one may have handled the event
	ParkedEvents.TxCreate(tx, &p)
	Partitions.TxCheck(tx, c.at.PartitionKey, partitionTurn.Eq(c.at.Turn))
	switch err := tx.Commit(ctx); {
	case errors.Is(err, table.ErrExists), err == nil:
	case errors.Is(err, table.ErrCondition), errors.Is(err, table.ErrNotFound):
		return false, errFenced
	default:
		return false, err
	}
	c.parked.add(e.EventKey)
	return true, nil
}

// retryParked reads the parked events, and tries those again that somebody has asked for: the first
// of an aggregate, and then the others in order, until one fails.
func (c *consumer) retryParked(ctx context.Context) error {
	all, err := parkedIn.Collect(ctx, c.t, c.at.PartitionKey)
	if err != nil {
		return err
	}
	c.parked = parkedSet{}
	for i := range all {
		c.parked.add(all[i].EventKey)
	}
	retried := map[eventstore.ID]bool{} // whether the next event of an aggregate is to be tried
	for i := range all {
		p := &all[i]
		if goes, known := retried[p.EventKey.ID]; !known && p.Retry || goes {
			if retried[p.EventKey.ID], err = c.retry(ctx, p); err != nil {
				return err
			}
			continue
		}
		retried[p.EventKey.ID] = false
	}
	return nil
}

// retry handles a parked event, and reports whether it succeeded.
func (c *consumer) retry(ctx context.Context, p *Parked) (ok bool, err error) {
	handled := c.handleParked(ctx, p)
	if err := ctx.Err(); err != nil {
		return false, err
	}
	if handled == nil {
		c.count++
		if err := ParkedEvents.Delete(ctx, c.t, p.ParkedKey); err != nil {
			return false, err
		}
		c.parked.remove(p.EventKey)
		return true, nil
	}
	p.Reason, p.Attempts, p.Retry = Reason(handled), p.Attempts+1, false
	if err := ParkedEvents.Put(ctx, c.t, p, table.Present()); !errors.Is(err, table.ErrCondition) {
		return false, err
	}
	c.parked.remove(p.EventKey) // discarded in the meantime
	return true, nil
}

// handleParked reads a parked event, and handles it.
func (c *consumer) handleParked(ctx context.Context, p *Parked) error {
	e, err := readParked(ctx, c.s, p)
	if err == nil {
		_, err = c.handle(ctx, []eventstore.FeedEvent{e})
	}
	return err
}

// readParked reads a parked event.
func readParked(ctx context.Context, s *eventstore.Store, p *Parked) (eventstore.FeedEvent, error) {
	e := eventstore.FeedEvent{Position: p.Position, Last: true}
	for found, err := range s.Read(ctx, p.EventKey.ID, eventstore.From(p.Seq), eventstore.To(p.Seq)) {
		if err != nil {
			return e, err
		}
		e.Event = found
	}
	if e.Seq == 0 {
		return e, fmt.Errorf("%w: event %d of %s", eventstore.ErrHole, p.Seq, p.EventKey.ID)
	}
	return e, nil
}
