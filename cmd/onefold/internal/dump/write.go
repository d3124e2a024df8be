package dump

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/internal/backoff"
)

const (
	batchOfPuts  = 256 // items per call of a dynamo.Putter
	batchOfAWS   = 25  // items per BatchWriteItem
	bytesOfBatch = 8 << 20
	firstBackoff = 50 * time.Millisecond
	lastBackoff  = 10 * time.Second
)

// write puts the items of a queue, in batches of the entries available.
func (m *Import) write(ctx context.Context, queue <-chan entry) error {
	putter, many := m.API.(dynamo.Putter)
	size := batchOfAWS
	if many {
		size = batchOfPuts
	}
	batch := make([]entry, 0, size)
	seen := make(map[string]bool, size)
	held := int64(0) // bytes of the batch
	send := func() error {
		if len(batch) == 0 {
			return nil
		}
		defer func() {
			m.waiting.Release(held)
			clear(seen)
			clear(batch)
			held, batch = 0, batch[:0]
		}()
		if many {
			return m.putAll(ctx, putter, batch)
		}
		return m.batchWrite(ctx, batch)
	}
	for e := range queue {
		if seen[e.key] || len(batch) == size || held+e.size() > bytesOfBatch {
			if err := send(); err != nil {
				return err
			}
		}
		seen[e.key] = true
		held += e.size()
		if batch = append(batch, e); len(queue) == 0 {
			if err := send(); err != nil {
				return err
			}
		}
	}
	return send()
}

// putAll puts a batch with PutItems.
func (m *Import) putAll(ctx context.Context, putter dynamo.Putter, batch []entry) error {
	ins := make([]*dynamodb.PutItemInput, len(batch))
	for i := range batch {
		ins[i] = &dynamodb.PutItemInput{TableName: &m.Table, Item: batch[i].item}
	}
	for i, err := range putter.PutItems(ctx, ins) {
		if err := m.settle(&batch[i], err); err != nil {
			return err
		}
	}
	return nil
}

// settle counts a stored item. It rejects an item whose put failed because of the item itself.
func (m *Import) settle(e *entry, err error) error {
	if err == nil {
		m.count(func(sum *Imported) { sum.Items++ })
		return nil
	}
	if dynamo.Code(err) == dynamo.CodeValidation {
		e.rejected.Why = fmt.Errorf("was rejected: %w", err)
		return m.reject(e.rejected)
	}
	return fmt.Errorf("import: %w", err)
}

// batchWrite puts a batch with BatchWriteItem. If the request is rejected, it puts each item alone
// to find the invalid one.
func (m *Import) batchWrite(ctx context.Context, batch []entry) error {
	requests := make([]types.WriteRequest, len(batch))
	for i := range batch {
		requests[i].PutRequest = &types.PutRequest{Item: batch[i].item}
	}
	err := m.sendAll(ctx, requests)
	if dynamo.Code(err) == dynamo.CodeValidation {
		for i := range batch {
			_, err := m.API.PutItem(ctx, &dynamodb.PutItemInput{TableName: &m.Table, Item: batch[i].item})
			if err := m.settle(&batch[i], err); err != nil {
				return err
			}
		}
		return nil
	}
	if err != nil {
		return fmt.Errorf("import: %w", err)
	}
	m.count(func(sum *Imported) { sum.Items += int64(len(batch)) })
	return nil
}

// sendAll sends requests until none is unprocessed. It slows down while it is throttled.
func (m *Import) sendAll(ctx context.Context, requests []types.WriteRequest) error {
	for wait := firstBackoff; ; wait = min(2*wait, lastBackoff) {
		out, err := m.API.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{m.Table: requests}})
		switch {
		case err == nil && len(out.UnprocessedItems) == 0:
			return nil
		case err == nil:
			requests = nil
			for _, left := range out.UnprocessedItems { // keyed by the table's name or ARN
				requests = append(requests, left...)
			}
		case !dynamo.IsThrottle(err):
			return err
		}
		if backoff.For(ctx, wait/2+rand.N(wait/2)) != nil {
			return errors.Join(context.Cause(ctx), err)
		}
	}
}
