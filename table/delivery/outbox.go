package delivery

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/onefold/onefold/table"
)

// Shards is the number of partitions for waiting messages of an outbox. It is part of stored keys.
const Shards = 4

// Outbox is a product's stored messages. All fields but Random are required.
type Outbox[T, K any] struct {
	Name   string // for errors
	Items  *table.Entity[T, K]
	Key    func(*T) K
	Status func(*T) *Status
	// Due returns messages of a shard that are waiting and due before a time, the earliest first.
	Due func(ctx context.Context, t *table.Table, shard int, before time.Time) ([]T, error)
	// Send makes one attempt, unless the message is no longer wanted.
	Send func(context.Context, *table.Table, *T) (skip bool, failed error)

	Random func() float64 // jitter in [0, 1); default math/rand
}

// Deliver sends all due messages once, and returns how many were sent. If an answer is lost, or its
// record, the message is sent again with the same ID. Deliver may run concurrently, in any number of
// processes: each message is claimed for two minutes. Failed attempts are retried with exponential
// backoff; after twelve attempts the message is a dead letter.
func (o *Outbox[T, K]) Deliver(ctx context.Context, t *table.Table) (sent int, err error) {
	for shard := range Shards {
		due, err := o.Due(ctx, t, shard, t.Now().UTC().Add(time.Millisecond))
		if err != nil {
			return sent, fmt.Errorf("%s: deliver: %w", o.Name, err)
		}
		for i := range due {
			ok, err := o.deliver(ctx, t, o.Key(&due[i]))
			if err != nil {
				return sent, fmt.Errorf("%s: deliver %v: %w", o.Name, o.Key(&due[i]), err)
			}
			if ok {
				sent++
			}
		}
	}
	return sent, nil
}

func (o *Outbox[T, K]) deliver(ctx context.Context, t *table.Table, k K) (sent bool, err error) {
	one, err := o.Items.Modify(ctx, t, k, func(one *T) error { return o.Status(one).claim(t.Now()) })
	if errors.Is(err, errNotDue) || errors.Is(err, table.ErrNotFound) || errors.Is(err, table.ErrConflict) {
		return false, nil
	}
	if err != nil || o.Status(&one).State != Waiting {
		return false, err
	}
	skip, failed := o.Send(ctx, t, &one)
	if ctx.Err() != nil {
		return false, ctx.Err() // the result is unknown: retry when the claim ends
	}
	claimed := o.Status(&one).Attempts
	_, err = o.Items.Modify(ctx, t, k, func(one *T) error {
		s := o.Status(one)
		if s.State != Waiting || failed != nil && s.Attempts != claimed {
			return errNotDue // the claim ended before the attempt, and another process has repeated it
		}
		s.settle(t.Now(), skip, failed, o.random())
		return nil
	})
	if errors.Is(err, errNotDue) || errors.Is(err, table.ErrNotFound) {
		err = nil
	}
	return err == nil && !skip && failed == nil, err
}

func (o *Outbox[T, K]) random() float64 {
	if o.Random == nil {
		return rand.Float64()
	}
	return o.Random()
}
