package subscription

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/table"
)

// consumer handles the events of a partition. Only its goroutine uses it.
type consumer struct {
	*Subscription
	at     Partition // as it was last stored
	next   int64     // position up to which all is handled
	count  int64     // events handled since the last checkpoint
	since  time.Time // of the last checkpoint, or look at requests
	parked parkedSet
	failed error // error of the last attempt
	times  int   // consecutive failures
}

// errFenced means that another consumer has begun, or that the subscription was reset.
var errFenced = errors.New("subscription: another consumer has the partition")

// consume handles the events of a partition until ctx ends.
func (s *Subscription) consume(ctx context.Context, partition int) error {
	c := &consumer{Subscription: s}
	c.at.PartitionKey = PartitionKey{s.def.Name, partition}
	for ctx.Err() == nil {
		err := c.begin(ctx)
		if err == nil {
			err = c.run(ctx)
		}
		if ctx.Err() != nil {
			break
		}
		if errors.Is(err, ErrNotFound) || errors.Is(err, ErrDefinition) {
			return err
		}
		if !errors.Is(err, errFenced) {
			c.o.Logger.Warn("subscription: cannot go on; retrying", "subscription", s.def.Name, "partition", partition, "err", err)
		}
		if err := c.o.Sleep(ctx, time.Second); err != nil {
			break
		}
	}
	return ctx.Err()
}

// begin takes the partition, and reads its parked events.
func (c *consumer) begin(ctx context.Context) error {
	record, err := Records.Get(ctx, c.t, Key{c.def.Name})
	if errors.Is(err, table.ErrNotFound) {
		return fmt.Errorf("%w: %s was deleted", ErrNotFound, c.def.Name)
	}
	if err == nil {
		err = c.agrees(&record)
	}
	if err != nil {
		return err
	}
	first := Partition{PartitionKey: c.at.PartitionKey, Position: record.Start, Turn: 1, Owner: c.o.Lease.Owner, UpdatedAt: c.t.Now().UTC()}
	err = Partitions.Create(ctx, c.t, &first)
	if c.at = first; errors.Is(err, table.ErrExists) {
		c.at, err = Partitions.Patch(ctx, c.t, first.PartitionKey, table.Add(partitionTurn, 1), partitionOwner.Set(first.Owner), partitionUpdated.Set(first.UpdatedAt))
	}
	if err != nil {
		return err
	}
	c.next, c.count, c.since, c.failed, c.times = c.at.Position, 0, c.t.Now(), nil, 0
	return c.retryParked(ctx)
}

var (
	partitionTurn     = table.FieldOf(Partitions, func(p *Partition) *int64 { return &p.Turn })
	partitionPosition = table.FieldOf(Partitions, func(p *Partition) *int64 { return &p.Position })
	partitionRequests = table.FieldOf(Partitions, func(p *Partition) *int64 { return &p.Requests })
	partitionOwner    = table.FieldOf(Partitions, func(p *Partition) *string { return &p.Owner })
	partitionHandled  = table.FieldOf(Partitions, func(p *Partition) *int64 { return &p.Handled })
	partitionParked   = table.FieldOf(Partitions, func(p *Partition) *int { return &p.Parked })
	partitionFailures = table.FieldOf(Partitions, func(p *Partition) *int { return &p.Failures })
	partitionError    = table.FieldOf(Partitions, func(p *Partition) *string { return &p.Error })
	partitionUpdated  = table.FieldOf(Partitions, func(p *Partition) *time.Time { return &p.UpdatedAt })
)

// run handles the feed from the position on.
func (c *consumer) run(ctx context.Context) (err error) {
	defer func() {
		if ctx.Err() != nil { // what was handled is not to be repeated
			last, stop := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
			defer stop()
			err = errors.Join(err, c.checkpoint(last))
		}
	}()
	only := append(slices.Clip(c.def.Only), eventstore.OfPartition(c.at.Partition, c.def.Partitions))
	for {
		page, err := c.s.FeedPage(ctx, c.next, c.o.AtOnce, only...)
		if err == nil {
			if err = c.deliver(ctx, page.Events); err == nil {
				c.next = page.Through
				err = c.checkpointIfDue(ctx)
			}
		}
		if err == nil && page.Tip {
			err = c.o.Sleep(ctx, c.o.Poll)
		}
		if err != nil {
			return err
		}
	}
}

// lookEvery is how often a partition without new events looks for requests.
const lookEvery = 2 * time.Second

// checkpointIfDue records the progress, and reacts to requests.
func (c *consumer) checkpointIfDue(ctx context.Context) error {
	changed := c.count > 0 || c.parked.n != c.at.Parked || c.times != c.at.Failures || c.said() != c.at.Error || c.next-c.at.Position >= int64(c.o.AtOnce)
	switch age := c.t.Now().Sub(c.since); {
	case changed && age >= c.o.Checkpoint:
		return c.checkpoint(ctx)
	case changed || age < lookEvery:
		return nil
	}
	return c.look(ctx)
}

// said returns the error of the last attempt for the table.
func (c *consumer) said() string {
	if c.failed == nil {
		return ""
	}
	return Reason(c.failed)
}

// look reacts to requests, without a write unless there are some. Errors: errFenced, those of the
// store.
func (c *consumer) look(ctx context.Context) error {
	now, err := Partitions.Get(ctx, c.t, c.at.PartitionKey)
	switch {
	case errors.Is(err, table.ErrNotFound), err == nil && now.Turn != c.at.Turn:
		return errFenced
	case err != nil:
		return err
	case now.Requests != c.at.Requests || c.next != now.Position:
		return c.checkpoint(ctx)
	}
	c.since = c.t.Now()
	return nil
}

// checkpoint records the progress. If somebody has asked for it, parked events are tried again.
// Errors: errFenced, those of the store.
func (c *consumer) checkpoint(ctx context.Context) error {
	seen := c.at.Requests
	now, err := Partitions.Patch(ctx, c.t, c.at.PartitionKey, partitionPosition.Set(c.next), table.Add(partitionHandled, c.count),
		partitionParked.Set(c.parked.n), partitionFailures.Set(c.times), partitionError.Set(c.said()), partitionUpdated.Set(c.t.Now().UTC()),
		table.If[Partition](partitionTurn.Eq(c.at.Turn)))
	if errors.Is(err, table.ErrCondition) || errors.Is(err, table.ErrNotFound) {
		return errFenced
	}
	if err != nil {
		return err
	}
	c.at, c.count, c.since = now, 0, c.t.Now()
	if now.Requests == seen {
		return nil
	}
	return c.retryParked(ctx)
}

// deliver handles or parks events, which are in the order of the feed. If it returns an error, next
// is before the first append that is not completely handled.
func (c *consumer) deliver(ctx context.Context, events []eventstore.FeedEvent) error {
	for len(events) > 0 {
		c.next = max(c.next, events[0].Position-1)
		if c.parked.waits(&events[0]) {
			parked, err := c.park(ctx, &events[0], "", 0)
			if err != nil {
				return err
			}
			if parked {
				events = events[1:]
				continue
			}
			if err := c.wait(ctx, ErrFull); err != nil {
				return err
			}
			continue
		}
		n := slices.IndexFunc(events, func(e eventstore.FeedEvent) bool { return c.parked.waits(&e) })
		if n < 0 {
			n = len(events)
		}
		done, err := c.handle(ctx, events[:n])
		c.count += int64(done)
		if events = events[done:]; done > 0 {
			c.times = 0
		}
		if c.failed = err; err == nil {
			continue
		}
		if c.next = max(c.next, events[0].Position-1); ctx.Err() != nil {
			return ctx.Err()
		}
		parked, err := c.parkPoison(ctx, &events[0])
		if err == nil && !parked {
			err = c.wait(ctx, c.failed)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// handle calls the handler. A panic is an error, and so is a handler that stops without one.
func (c *consumer) handle(ctx context.Context, events []eventstore.FeedEvent) (done int, err error) {
	defer func() {
		if r := recover(); r != nil {
			done, err = 0, fmt.Errorf("the handler panicked: %v", r)
		}
		if done < 0 || done > len(events) {
			done, err = 0, Permanent(fmt.Errorf("the handler says that it has handled %d of %d events", done, len(events)))
		}
		if err == nil && done < len(events) {
			err = fmt.Errorf("the handler has handled %d of %d events without an error", done, len(events))
		}
		if done == len(events) {
			err = nil
		}
	}()
	return c.def.Handle(ctx, events)
}

// parkPoison counts a failed attempt, and parks the event after the last one. It is not parked yet
// if parked is false.
func (c *consumer) parkPoison(ctx context.Context, e *eventstore.FeedEvent) (parked bool, err error) {
	c.times++
	if poison := (*permanent)(nil); c.times < c.o.Attempts && !errors.As(c.failed, &poison) {
		return false, nil
	}
	if parked, err = c.park(ctx, e, Reason(c.failed), c.times); parked {
		c.o.Logger.Warn("subscription: event parked", "subscription", c.def.Name, "event", e.EventID, "type", e.EventType, "attempts", c.times, "err", c.failed)
		c.times, c.failed = 0, nil
	} else if err == nil {
		c.failed = fmt.Errorf("%w: %w", ErrFull, c.failed)
	}
	return parked, err
}

// wait records an error, and waits for the next attempt.
func (c *consumer) wait(ctx context.Context, failed error) error {
	if c.failed = failed; c.times == 0 {
		c.times = 1
	}
	if err := c.checkpointIfDue(ctx); err != nil {
		return err
	}
	return c.o.Sleep(ctx, c.o.Delay(c.times))
}

// maxReason is the maximum length of an error in the table, in bytes.
const maxReason = 500

// Reason returns the text of an error, shortened for the table.
func Reason(err error) string {
	s := err.Error()
	if len(s) <= maxReason {
		return s
	}
	return strings.ToValidUTF8(s[:maxReason-len("…")], "") + "…"
}
