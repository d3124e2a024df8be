package subscription

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/table"
)

// Status is the progress of a subscription.
type Status struct {
	Record
	Head       int64       // end of the feed
	Partitions []Partition // those that were ever begun, by number
}

// Position returns the position up to which all events are handled or parked.
func (s *Status) Position() int64 {
	if len(s.Partitions) < s.Record.Partitions {
		return s.Start
	}
	position := s.Head
	for i := range s.Partitions {
		position = min(position, s.Partitions[i].Position)
	}
	return position
}

// Lag returns how many appends of the feed are after Position. A partition may be ahead.
func (s *Status) Lag() int64 { return s.Head - s.Position() }

// Behind returns for how long the first append after Position has been in the feed; 0 if there is
// none. Errors: those of the store.
func (s *Status) Behind(ctx context.Context, of *eventstore.Store) (time.Duration, error) {
	if s.Lag() <= 0 {
		return 0, nil
	}
	at, err := of.FeedEnteredAt(ctx, s.Position()+1)
	if err != nil {
		return 0, fmt.Errorf("subscription %s: %w", s.Name, err)
	}
	return max(of.Table().Now().Sub(at), 0), nil
}

// Parked returns the number of parked events.
func (s *Status) Parked() (n int) {
	for i := range s.Partitions {
		n += s.Partitions[i].Parked
	}
	return n
}

// InFlight returns the number of events that consumers have pulled and not settled, while their
// visibility time lasts.
func (s *Status) InFlight(now time.Time) (n int) {
	for i := range s.Partitions {
		p := &s.Partitions[i]
		if !now.Before(p.Until) {
			continue
		}
		for _, slots := range [][]Slot{p.Window, p.Retrying} {
			for _, slot := range slots {
				if slot.State == SlotOut {
					n++
				}
			}
		}
	}
	return n
}

// Handled returns the number of events handled, including repetitions.
func (s *Status) Handled() (n int64) {
	for i := range s.Partitions {
		n += s.Partitions[i].Handled
	}
	return n
}

// UpdatedAt returns when a consumer last recorded progress; zero: never.
func (s *Status) UpdatedAt() (at time.Time) {
	for i := range s.Partitions {
		if s.Partitions[i].UpdatedAt.After(at) {
			at = s.Partitions[i].UpdatedAt
		}
	}
	return at
}

// List returns all subscriptions by name.
func List(ctx context.Context, s *eventstore.Store) ([]Status, error) {
	records, err := All.Collect(ctx, s.Table(), struct{}{})
	if err != nil {
		return nil, fmt.Errorf("subscription: list: %w", err)
	}
	all := make([]Status, len(records))
	for i, r := range records {
		if all[i], err = status(ctx, s, r); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// Get returns a subscription. Errors: ErrNotFound, those of the store.
func Get(ctx context.Context, s *eventstore.Store, name string) (Status, error) {
	r, err := Records.Get(ctx, s.Table(), Key{name})
	if err != nil {
		return Status{}, notFound(name, err)
	}
	return status(ctx, s, r)
}

func status(ctx context.Context, s *eventstore.Store, r Record) (Status, error) {
	st := Status{Record: r}
	var err error
	if st.Partitions, err = PartitionsOf.Collect(ctx, s.Table(), r.Key); err != nil {
		return st, fmt.Errorf("subscription %s: %w", r.Name, err)
	}
	head, err := s.FeedHead(ctx) // after the partitions, which cannot be ahead of it then
	if err != nil {
		return st, fmt.Errorf("subscription %s: %w", r.Name, err)
	}
	st.Head = head.Position
	return st, nil
}

func notFound(name string, err error) error {
	if errors.Is(err, table.ErrNotFound) || errors.Is(err, table.ErrKeyValue) {
		return fmt.Errorf("%w: %q", ErrNotFound, name)
	}
	return fmt.Errorf("subscription %s: %w", name, err)
}

// Retry asks the consumers of a subscription to try parked events again: those of the given
// aggregates, or all. They do so within seconds: the first event of an aggregate, and then the others
// in order, until one fails. It returns the number of aggregates. Errors: ErrNotFound, those of the
// store.
func Retry(ctx context.Context, s *eventstore.Store, name string, only ...eventstore.ID) (aggregates int, err error) {
	marked := map[eventstore.ID]bool{}
	err = eachParked(ctx, s, name, only, func(p *Parked) (bool, error) {
		if marked[p.EventKey.ID] {
			return false, nil
		}
		marked[p.EventKey.ID] = true
		_, err := ParkedEvents.Patch(ctx, s.Table(), p.ParkedKey, parkedRetry.Set(true))
		if errors.Is(err, table.ErrNotFound) {
			return false, nil // handled or discarded in the meantime
		}
		return true, err
	})
	return len(marked), err
}

var parkedRetry = table.FieldOf(ParkedEvents, func(p *Parked) *bool { return &p.Retry })

// Discard deletes the parked events of the given aggregates, or all. They are never handled. It
// returns their number. Errors: ErrNotFound, those of the store.
func Discard(ctx context.Context, s *eventstore.Store, name string, only ...eventstore.ID) (events int, err error) {
	err = eachParked(ctx, s, name, only, func(p *Parked) (bool, error) {
		events++
		return true, ParkedEvents.Delete(ctx, s.Table(), p.ParkedKey)
	})
	return events, err
}

// eachParked passes the parked events of the given aggregates, or all, to do, which reports whether
// the consumer must know.
func eachParked(ctx context.Context, s *eventstore.Store, name string, only []eventstore.ID, do func(*Parked) (bool, error)) error {
	if _, err := Records.Get(ctx, s.Table(), Key{name}); err != nil {
		return notFound(name, err)
	}
	wanted := map[eventstore.ID]bool{}
	for _, id := range only {
		wanted[id] = true
	}
	asked := map[int]bool{}
	for p, err := range ParkedOf.All(ctx, s.Table(), Key{name}) {
		if err == nil && (len(only) == 0 || wanted[p.EventKey.ID]) {
			var tell bool
			tell, err = do(&p)
			asked[p.Partition] = asked[p.Partition] || tell
		}
		if err != nil {
			return fmt.Errorf("subscription %s: parked events: %w", name, err)
		}
	}
	for partition := range asked {
		if !asked[partition] {
			continue
		}
		if _, err := Partitions.Patch(ctx, s.Table(), PartitionKey{name, partition}, table.Add(partitionRequests, 1)); err != nil {
			return fmt.Errorf("subscription %s: %w", name, err)
		}
	}
	return nil
}

// Reset makes a subscription go on after a position, 0 for the beginning. Parked events stay parked.
// Consumers notice within seconds, and what they do until then has no effect on the position.
// Errors: ErrNotFound; ErrDefinition for a position outside the feed; those of the store.
func Reset(ctx context.Context, s *eventstore.Store, name string, position int64) error {
	st, err := Get(ctx, s, name)
	if err != nil {
		return err
	}
	if position < 0 || position > st.Head {
		return fmt.Errorf("%w: the feed has positions 0 to %d, not %d", ErrDefinition, st.Head, position)
	}
	for n := range st.Record.Partitions {
		key, now := PartitionKey{name, n}, s.Table().Now().UTC()
		_, err := Partitions.Patch(ctx, s.Table(), key, partitionPosition.Set(position), table.Add(partitionTurn, 1), partitionUpdated.Set(now),
			partitionWindow.Set(nil), partitionThrough.Set(position), partitionRetrying.Set(nil), partitionNotBefore.Set(time.Time{}))
		if errors.Is(err, table.ErrNotFound) {
			err = Partitions.Create(ctx, s.Table(), &Partition{PartitionKey: key, Position: position, Turn: 1, UpdatedAt: now})
		}
		if err != nil {
			return fmt.Errorf("subscription %s: reset: %w", name, err)
		}
	}
	return nil
}
