package delivery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/onefold/onefold/internal/webhook"
	"github.com/onefold/onefold/table"
)

const (
	// Shards is the number of partitions for waiting messages of an outbox. It is part of stored keys.
	Shards = 4
	// maxLanes is the number of receivers to which an outbox sends at the same time.
	maxLanes = 32
)

// Outbox is a product's stored messages. All fields but Counts and Random are required.
type Outbox[T, K any] struct {
	Name   string // for errors
	Items  *table.Entity[T, K]
	Key    func(*T) K
	Status func(*T) *Status
	// Receiver names the channel of a message. Messages of one receiver are sent one after another.
	Receiver func(*T) string
	// Due returns messages of a shard that are waiting and due before a time, the earliest first.
	Due func(ctx context.Context, t *table.Table, shard int, before time.Time) ([]T, error)
	// Send makes one attempt, unless the message is no longer wanted.
	Send func(context.Context, *table.Table, *T) (skip bool, failed error)

	Counts *Counts        // counts attempts; default: none
	Random func() float64 // jitter in [0, 1), called by one goroutine per receiver; default math/rand
}

// lane is the due messages of one receiver, in the order in which they are due.
type lane[K any] struct {
	keys     []K
	attempts int // of the first
}

// Deliver sends all due messages once, and returns how many were sent. If an answer is lost, or its
// record, the message is sent again with the same ID. Deliver may run concurrently, in any number of
// processes: each message is claimed for two minutes. Failed attempts are retried with exponential
// backoff; after twelve attempts the message is a dead letter.
//
// Up to 32 receivers are served at the same time, each with one message at a time, so that a receiver
// that does not answer delays few others. If a receiver cannot be reached, answers 5xx, or asks to wait,
// its other due messages count as attempted: they would wait for the same timeout, one after another.
func (o *Outbox[T, K]) Deliver(ctx context.Context, t *table.Table) (sent int, err error) {
	lanes, err := o.lanes(ctx, t)
	if err != nil {
		return 0, fmt.Errorf("%s: deliver: %w", o.Name, err)
	}
	var mu sync.Mutex
	var all sync.WaitGroup
	free := make(chan struct{}, maxLanes)
	for _, l := range lanes {
		free <- struct{}{}
		all.Go(func() {
			n, failed := o.serve(ctx, t, l)
			<-free
			mu.Lock()
			defer mu.Unlock()
			sent, err = sent+n, errors.Join(err, failed)
		})
	}
	all.Wait()
	return sent, err
}

// lanes returns the due messages by receiver: first those with the fewest attempts, whose receivers are
// likely to answer.
func (o *Outbox[T, K]) lanes(ctx context.Context, t *table.Table) ([]*lane[K], error) {
	by := map[string]*lane[K]{}
	var all []*lane[K]
	for shard := range Shards {
		due, err := o.Due(ctx, t, shard, t.Now().UTC().Add(time.Millisecond))
		if err != nil {
			return nil, err
		}
		for i := range due {
			l := by[o.Receiver(&due[i])]
			if l == nil {
				l = &lane[K]{attempts: o.Status(&due[i]).Attempts}
				by[o.Receiver(&due[i])], all = l, append(all, l)
			}
			l.keys = append(l.keys, o.Key(&due[i]))
		}
	}
	slices.SortStableFunc(all, func(a, b *lane[K]) int { return cmp.Compare(a.attempts, b.attempts) })
	return all, nil
}

// serve sends the messages of a receiver until it turns out to be down.
func (o *Outbox[T, K]) serve(ctx context.Context, t *table.Table, l *lane[K]) (sent int, err error) {
	var down error
	for _, k := range l.keys {
		if ctx.Err() != nil {
			return sent, errors.Join(err, ctx.Err())
		}
		ok, failed, problem := o.attempt(ctx, t, k, down)
		if problem != nil {
			err = errors.Join(err, fmt.Errorf("%s: deliver %v: %w", o.Name, k, problem))
		}
		if ok {
			sent++
		}
		if down == nil && isDown(failed) {
			down = failed
		}
	}
	return sent, err
}

// isDown reports whether an attempt failed in a way in which the next one would, too.
func isDown(failed error) bool {
	if failed == nil {
		return false
	}
	var status *webhook.StatusError
	if errors.As(failed, &status) {
		return status.Code >= 500 || status.Code == 429
	}
	var network interface{ Timeout() bool } // net.Error and context.DeadlineExceeded
	return errors.As(failed, &network)
}

// attempt makes one attempt to send a message and records it. If the receiver is down, it records an
// attempt that failed with that error.
func (o *Outbox[T, K]) attempt(ctx context.Context, t *table.Table, k K, down error) (sent bool, failed, err error) {
	one, err := o.Items.Modify(ctx, t, k, func(one *T) error { return o.Status(one).claim(t.Now()) })
	if errors.Is(err, errNotDue) || errors.Is(err, table.ErrNotFound) || errors.Is(err, table.ErrConflict) {
		return false, nil, nil
	}
	if err != nil {
		return false, nil, err
	}
	if o.Status(&one).State != Waiting {
		o.Counts.add(o.Status(&one))
		return false, nil, nil
	}
	skip, failed := false, down
	if down == nil {
		skip, failed = o.Send(ctx, t, &one)
	}
	if ctx.Err() != nil {
		return false, failed, ctx.Err() // the result is unknown: retry when the claim ends
	}
	err = o.record(ctx, t, k, o.Status(&one).Attempts, skip, failed)
	return err == nil && !skip && failed == nil, failed, err
}

// record stores the result of an attempt, unless the claim ended before and another process has
// repeated the attempt.
func (o *Outbox[T, K]) record(ctx context.Context, t *table.Table, k K, claimed int, skip bool, failed error) error {
	one, err := o.Items.Modify(ctx, t, k, func(one *T) error {
		s := o.Status(one)
		if s.State != Waiting || failed != nil && s.Attempts != claimed {
			return errNotDue
		}
		s.settle(t.Now(), skip, failed, o.random())
		return nil
	})
	if errors.Is(err, errNotDue) || errors.Is(err, table.ErrNotFound) {
		return nil
	}
	if err == nil {
		o.Counts.add(o.Status(&one))
	}
	return err
}

func (o *Outbox[T, K]) random() float64 {
	if o.Random == nil {
		return rand.Float64()
	}
	return o.Random()
}
