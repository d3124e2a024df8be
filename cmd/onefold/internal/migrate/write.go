package migrate

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"

	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/table"
)

// change is the new state of one key in the target.
type change struct {
	key  table.Item
	item table.Item // nil: delete
}

const (
	batchItems   = 25      // limit of BatchWriteItem
	batchBytes   = 8 << 20 // half of the 16 MB limit of a request
	writesAtOnce = 16
	patience     = 10 * time.Minute // with a store that is unavailable or throttles
	firstWait    = 50 * time.Millisecond
	longestWait  = 5 * time.Second
)

// writer writes to the target, as fast as the target or the limit allows.
type writer struct {
	m      *Move
	limit  *rate.Limiter // nil: no limit
	atOnce chan struct{}
}

func newWriter(m *Move) *writer {
	w := &writer{m: m, atOnce: make(chan struct{}, writesAtOnce)}
	if units := m.o.MaxUnits; units > 0 {
		w.limit = rate.NewLimiter(rate.Limit(units), max(int(math.Ceil(units)), 1))
	}
	return w
}

// apply writes changes of distinct keys in any order, and returns when they are durable.
func (w *writer) apply(ctx context.Context, changes []change) error {
	group, ctx := errgroup.WithContext(ctx)
	for len(changes) > 0 {
		n := batchOf(changes)
		part := changes[:n]
		changes = changes[n:]
		select {
		case w.atOnce <- struct{}{}:
		case <-ctx.Done():
			return errors.Join(group.Wait(), context.Cause(ctx))
		}
		group.Go(func() error {
			defer func() { <-w.atOnce }()
			return w.send(ctx, part)
		})
	}
	return group.Wait()
}

// batchOf returns how many of the changes go into one request.
func batchOf(changes []change) int {
	size := 0
	for i, c := range changes {
		if size += table.ItemSize(c.item); i == batchItems || size > batchBytes && i > 0 {
			return i
		}
	}
	return len(changes)
}

// send writes one batch, and retries until it is written completely.
func (w *writer) send(ctx context.Context, part []change) error {
	requests := make([]types.WriteRequest, len(part))
	guess := 0.0
	for i, c := range part {
		if c.item == nil {
			requests[i].DeleteRequest = &types.DeleteRequest{Key: c.key}
			guess++
			continue
		}
		requests[i].PutRequest = &types.PutRequest{Item: c.item}
		guess += math.Ceil(float64(table.ItemSize(c.item)) / 1024)
	}
	if err := w.pay(ctx, guess); err != nil {
		return err
	}
	for started, wait := w.m.o.Clock(), firstWait; ; wait = min(2*wait, longestWait) {
		left, used, err := w.once(ctx, requests)
		if err == nil && len(left) == 0 {
			return w.pay(ctx, used-guess)
		}
		if err == nil {
			if len(left) < len(requests) { // progress, if slow
				started = w.m.o.Clock()
			}
			requests = left
		} else if ctx.Err() != nil || !transient(err) || w.m.o.Clock().Sub(started) > patience {
			return fmt.Errorf("move: write to %s: %w", w.m.to.Name, err)
		}
		if err := w.m.o.Sleep(ctx, wait/2+rand.N(wait/2)); err != nil {
			return err
		}
	}
}

// once sends a batch, if this process still holds the migration.
func (w *writer) once(ctx context.Context, requests []types.WriteRequest) (left []types.WriteRequest, used float64, err error) {
	for !w.m.held() {
		if err := w.m.o.Sleep(ctx, firstWait); err != nil {
			return nil, 0, err
		}
	}
	within, cancel := context.WithTimeout(ctx, writeWithin)
	defer cancel()
	out, err := w.m.to.API.BatchWriteItem(within, &dynamodb.BatchWriteItemInput{
		RequestItems: map[string][]types.WriteRequest{w.m.to.Table: requests}, ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
	})
	if err != nil {
		return nil, 0, err
	}
	for _, c := range out.ConsumedCapacity {
		if c.CapacityUnits != nil {
			used += *c.CapacityUnits
		}
	}
	for _, some := range out.UnprocessedItems { // keyed by the table's name or ARN
		left = append(left, some...)
	}
	return left, used, nil
}

// pay waits until the limit allows so many units.
func (w *writer) pay(ctx context.Context, units float64) error {
	if w.limit == nil {
		return nil
	}
	for n := int(math.Ceil(units)); n > 0; n -= w.limit.Burst() {
		if err := w.limit.WaitN(ctx, min(n, w.limit.Burst())); err != nil {
			return fmt.Errorf("move: rate: %w", err)
		}
	}
	return nil
}

// keyOf returns the key of an item.
func keyOf(it table.Item) table.Item {
	return table.Item{table.AttrPK: it[table.AttrPK], table.AttrSK: it[table.AttrSK]}
}

// id returns a unique string for a key. The separator is a byte that UTF-8 does not use.
func id(key table.Item) string { return text(key[table.AttrPK]) + "\xff" + text(key[table.AttrSK]) }

func text(av types.AttributeValue) string {
	s, ok := av.(*types.AttributeValueMemberS)
	if !ok {
		return ""
	}
	return s.Value
}

// feedMarks is the attribute in which the event store's feed stores marks by shard.
const feedMarks = "marks"

// unmarked returns an item in the form of the target: without marks of shards of the source's
// stream. The item already contains their changes, and the target's shards could have the same
// names.
func unmarked(it table.Item) table.Item {
	marks := ""
	if _, ok := it[fold.AttrMarks].(*types.AttributeValueMemberM); ok {
		marks = fold.AttrMarks
	} else if text(it[table.AttrEntity]) == feedHead {
		marks = feedMarks
	}
	if m, ok := it[marks].(*types.AttributeValueMemberM); !ok || len(m.Value) == 0 {
		return it
	}
	clean := make(table.Item, len(it))
	for name, v := range it {
		clean[name] = v
	}
	clean[marks] = &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{}}
	return clean
}
