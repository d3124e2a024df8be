package subscription

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/internal/backoff"
	"github.com/onefold/onefold/table"
)

// Errors of acknowledgments and rejections.
var (
	// ErrLost is returned when the visibility time has ended and the event was delivered again, or
	// when it was rejected.
	ErrLost = errors.New("subscription: the event is no longer leased to this consumer")
	// ErrEarlier is returned when an earlier event of the aggregate is neither acknowledged nor parked.
	ErrEarlier = errors.New("subscription: acknowledge the earlier events of the aggregate first")
)

// Acknowledge records that events are handled. The error of each token is ErrToken, ErrLost,
// ErrEarlier, or nil, also for an event that is acknowledged already. The other tokens have their
// effect nevertheless. A token stays valid after the visibility time until the event is delivered
// again. Errors: those of the store.
func (q *Puller) Acknowledge(ctx context.Context, tokens []string) (refused []error, err error) {
	refused = make([]error, len(tokens))
	keys, parts := make([]token, len(tokens)), map[int][]int{}
	for i, text := range tokens {
		keys[i], refused[i] = q.open(text)
		if refused[i] == nil && !keys[i].parked {
			parts[keys[i].partition] = append(parts[keys[i].partition], i)
		}
	}
	for partition, all := range parts {
		if err = q.acknowledge(ctx, partition, all, keys, refused); err != nil {
			return nil, fmt.Errorf("subscription %s: acknowledge: %w", q.record.Name, err)
		}
	}
	for i := range keys {
		if refused[i] == nil && keys[i].parked {
			if refused[i], err = q.settleParked(ctx, &keys[i], nil); err != nil {
				return nil, fmt.Errorf("subscription %s: acknowledge: %w", q.record.Name, err)
			}
		}
	}
	return refused, nil
}

// open decodes a token. Errors: ErrToken, ErrLost.
func (q *Puller) open(text string) (token, error) {
	k, err := openToken(q.t, q.record.Name, text)
	if err == nil && k.created != q.record.CreatedAt.UnixNano() {
		err = ErrLost
	}
	return k, err
}

// acknowledge records in a partition that the events with the given indexes are handled.
func (q *Puller) acknowledge(ctx context.Context, partition int, all []int, keys []token, refused []error) error {
	return q.modify(ctx, partition, func(c *change) ([]func(*table.Tx), error) {
		place := func(i int) int { return slices.IndexFunc(c.next.Window, keys[i].is) }
		slices.SortStableFunc(all, func(a, b int) int { return cmp.Compare(place(a), place(b)) })
		n := int64(0)
		for _, i := range all {
			at, err := c.next.find(&keys[i])
			switch refused[i] = err; {
			case err == nil && at >= 0:
				c.next.Window[at].State = SlotDone
				n++
			case err == nil && c.was.Parked > 0:
				if refused[i], err = q.lostToParking(ctx, &keys[i]); err != nil {
					return nil, err
				}
			}
		}
		if n == 0 {
			return nil, errNothing
		}
		c.next.Handled += n
		c.next.Failures, c.next.Error = 0, ""
		return nil, nil
	})
}

// lostToParking returns ErrLost if an event that is done was parked.
func (q *Puller) lostToParking(ctx context.Context, k *token) (refused, err error) {
	_, err = ParkedEvents.Get(ctx, q.t, ParkedKey{Name: q.record.Name, Partition: k.partition, Position: k.position, EventKey: k.EventKey})
	if errors.Is(err, table.ErrNotFound) {
		return nil, nil
	}
	return ErrLost, err
}

// is reports whether the token is for the event of a slot.
func (k *token) is(s Slot) bool { return s.EventID == k.eventID }

// find returns the slot of an event that the consumer has; -1 if the event is done. Errors: ErrLost,
// ErrEarlier.
func (p *Partition) find(k *token) (int, error) {
	at := slices.IndexFunc(p.Window, k.is)
	switch {
	case p.Turn > 0 && k.position <= p.Position || at >= 0 && p.Window[at].State == SlotDone:
		return -1, nil
	case at < 0 || k.turn != p.Turn || p.Window[at].State != SlotOut:
		return -1, ErrLost
	}
	for _, s := range p.Window[:at] {
		if s.First == p.Window[at].First && s.State != SlotDone {
			return at, ErrEarlier
		}
	}
	return at, nil
}

// errNothing ends a modification that changes nothing.
var errNothing = errors.New("subscription: nothing to change")

// maxWrites is how often a write to a partition is tried that others write to at the same time.
const maxWrites = 30

// modify changes a partition, and starts over if it was changed in the meantime. Errors:
// eventstore.ErrBusy, those of the store and of do.
func (q *Puller) modify(ctx context.Context, partition int, do func(*change) ([]func(*table.Tx), error)) error {
	for n := range maxWrites {
		p, err := Partitions.Get(ctx, q.t, PartitionKey{q.record.Name, partition})
		if err != nil && !errors.Is(err, table.ErrNotFound) {
			return err
		}
		c := change{was: p, next: p}
		c.next.Window, c.next.Retrying = slices.Clone(p.Window), slices.Clone(p.Retrying)
		more, err := do(&c)
		if errors.Is(err, errNothing) {
			return nil
		}
		if err == nil {
			c.next.settle()
			err = q.save(ctx, &c, more...)
		}
		if !errors.Is(err, errStale) {
			return err
		}
		if err := backoff.For(ctx, backoff.Delay(n, 2*time.Millisecond, 100*time.Millisecond)); err != nil {
			return err
		}
	}
	return fmt.Errorf("%w: partition %d of subscription %s", eventstore.ErrBusy, partition, q.record.Name)
}

// Reject records that an event could not be handled. With park it is parked, otherwise only after
// the last attempt of the settings; before that it is delivered again after a wait. A reason has at
// most 500 bytes. Later events of the aggregate that the consumer has are withdrawn: acknowledging
// them is ErrLost. An event that was parked before stays parked. Errors: as Acknowledge, and those of
// the store.
func (q *Puller) Reject(ctx context.Context, text, reason string, park bool) (refused, err error) {
	k, refused := q.open(text)
	if refused != nil {
		return refused, nil
	}
	failed := errors.New(cmp.Or(reason, "rejected"))
	if k.parked {
		refused, err = q.settleParked(ctx, &k, failed)
	} else {
		err = q.modify(ctx, k.partition, func(c *change) ([]func(*table.Tx), error) {
			at, err := c.next.find(&k)
			if refused = err; err != nil || at < 0 {
				if i := slices.IndexFunc(c.next.Window, k.is); i >= 0 && c.next.Turn == k.turn && c.next.Window[i].State == SlotRejected {
					refused = nil // again
				}
				return nil, errNothing
			}
			q.reject(c, at, &k, failed, park)
			return nil, nil
		})
	}
	if err != nil {
		return nil, fmt.Errorf("subscription %s: reject: %w", q.record.Name, err)
	}
	return refused, nil
}

// reject parks the event of a slot, or makes it wait for the next attempt.
func (q *Puller) reject(c *change, at int, k *token, failed error, park bool) {
	p, s := &c.next, &c.next.Window[at]
	s.Failures++
	p.Failures, p.Error = s.Failures, Reason(failed)
	for i := at + 1; i < len(p.Window); i++ {
		if later := &p.Window[i]; later.First == s.First && later.State == SlotOut {
			later.State = SlotRejected
		}
	}
	now := q.t.Now().UTC()
	switch park = park || !q.record.Pulled.mayFail(s.Failures); {
	case park && p.Parked < maxParked:
		key := ParkedKey{Name: q.record.Name, Partition: p.Partition, Position: k.position, EventKey: k.EventKey}
		c.park = []Parked{{ParkedKey: key, EventID: k.eventID, EventType: k.eventType, Reason: p.Error, Attempts: s.Failures, ParkedAt: now}}
		s.State = SlotDone
		p.Parked++
		p.Failures, p.Error = 0, ""
		return
	case park:
		p.Error = Reason(fmt.Errorf("%w: %w", ErrFull, failed))
	}
	s.State = SlotRejected
	if at := now.Add(q.record.Pulled.delay(s.Failures)); at.After(p.NotBefore) {
		p.NotBefore = at
	}
}

// settleParked acknowledges a parked event that was tried again, or rejects it. After an
// acknowledgment the next parked event of its aggregate follows.
func (q *Puller) settleParked(ctx context.Context, k *token, failed error) (refused, err error) {
	key := ParkedKey{Name: q.record.Name, Partition: k.partition, Position: k.position, EventKey: k.EventKey}
	err = q.modify(ctx, k.partition, func(c *change) ([]func(*table.Tx), error) {
		at := slices.IndexFunc(c.next.Retrying, k.is)
		stored, err := ParkedEvents.Get(ctx, q.t, key)
		gone := errors.Is(err, table.ErrNotFound)
		if err != nil && !gone {
			return nil, err
		}
		if at < 0 || c.next.Turn != k.turn || c.next.Retrying[at].State != SlotOut {
			if refused = nil; !gone && (failed == nil || stored.Retry) {
				refused = ErrLost
			}
			return nil, errNothing
		}
		refused, c.next.Retrying[at].State = nil, SlotDone
		if failed != nil {
			stored.Reason, stored.Attempts, stored.Retry = Reason(failed), stored.Attempts+1, false
			if gone {
				return nil, nil
			}
			return []func(*table.Tx){func(tx *table.Tx) { ParkedEvents.TxPut(tx, &stored, table.Present()) }}, nil
		}
		c.next.Handled++
		if gone { // discarded in the meantime
			return nil, nil
		}
		c.next.Parked = max(c.next.Parked-1, 0)
		return q.afterParked(ctx, &stored)
	})
	return refused, err
}

// afterParked returns the operations that delete a handled parked event, and that mark the next one
// of its aggregate to be tried again.
func (q *Puller) afterParked(ctx context.Context, p *Parked) ([]func(*table.Tx), error) {
	do := []func(*table.Tx){func(tx *table.Tx) { ParkedEvents.TxDelete(tx, p.ParkedKey) }}
	for later, err := range parkedIn.All(ctx, q.t, PartitionKey{p.Name, p.Partition}) {
		if err != nil {
			return nil, err
		}
		if later.EventKey.ID == p.EventKey.ID && later.Seq > p.Seq {
			return append(do, func(tx *table.Tx) { ParkedEvents.TxPatch(tx, later.ParkedKey, parkedRetry.Set(true)) }), nil
		}
	}
	return do, nil
}
