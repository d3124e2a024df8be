package table

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/internal/backoff"
)

// Limits of the batch operations, and how many retries without any progress are made for
// unprocessed keys or items.
const (
	batchGetKeys   = 100
	batchWriteOps  = 25
	maxIdleRetries = 8
)

// retryDelay returns the wait before retry n, counted from 0.
func retryDelay(n int) time.Duration { return backoff.Delay(n, 25*time.Millisecond, 3*time.Second) }

// GetMany reads many items, consistently, and returns them in the order of their keys. Missing,
// removed and expired items are omitted. A key given twice is returned once. Errors: those of Key
// and Decode, and ErrThrottled.
func (e *Entity[T, K]) GetMany(ctx context.Context, t *Table, ks []K) ([]T, error) {
	items, err := e.core.getMany(ctx, t, len(ks), func(i int) any { return &ks[i] })
	if err != nil {
		return nil, err
	}
	vs := make([]T, len(items))
	for i, it := range items {
		if err := e.core.decode(it, &vs[i]); err != nil {
			return nil, e.core.failed("get many", err)
		}
	}
	return vs, nil
}

// getMany reads the live items of n keys, each once.
func (e *entity) getMany(ctx context.Context, t *Table, n int, k func(i int) any) ([]Item, error) {
	keys := make([]Item, 0, n)
	seen := make(map[primaryKey]bool, n)
	for i := range n {
		key, err := e.key(k(i))
		if err != nil {
			return nil, e.failed("get many", err)
		}
		if id := keyOf(key); !seen[id] {
			seen[id] = true
			keys = append(keys, key)
		}
	}
	found := make(map[primaryKey]Item, len(keys))
	for start := 0; start < len(keys); start += batchGetKeys {
		if err := t.getBatch(ctx, keys[start:min(start+batchGetKeys, len(keys))], found); err != nil {
			return nil, e.failed("get many", err)
		}
	}
	items := make([]Item, 0, len(found))
	for _, key := range keys {
		if it, ok := found[keyOf(key)]; ok && t.live(it) {
			items = append(items, it)
		}
	}
	return items, nil
}

// primaryKey identifies an item of a table.
type primaryKey struct{ pk, sk string }

func keyOf(it Item) primaryKey {
	return primaryKey{text(it, AttrPK), text(it, AttrSK)}
}

// getBatch reads up to batchGetKeys distinct keys, and repeats until none is left unprocessed.
func (t *Table) getBatch(ctx context.Context, keys []Item, into map[primaryKey]Item) error {
	left := keys
	for idle := 0; len(left) > 0; {
		out, err := t.api.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{
			RequestItems: map[string]types.KeysAndAttributes{t.name: {Keys: left, ConsistentRead: &consistent}},
		})
		if err != nil && !dynamo.IsThrottle(err) {
			return err
		}
		if err == nil {
			for _, it := range out.Responses[t.name] {
				into[keyOf(it)] = it
			}
			rest := out.UnprocessedKeys[t.name].Keys
			if len(rest) < len(left) {
				idle = 0
			}
			left = rest
		}
		if len(left) > 0 {
			if err := t.waitRetry(ctx, &idle, err); err != nil {
				return err
			}
		}
	}
	return nil
}

// waitRetry waits before the unprocessed rest of a batch is sent again. It gives up with
// ErrThrottled after maxIdleRetries without progress, or at once if the client below has given up.
func (t *Table) waitRetry(ctx context.Context, idle *int, cause error) error {
	if _, gaveUp := dynamo.GaveUp(cause); gaveUp || *idle >= maxIdleRetries {
		if cause != nil {
			return fmt.Errorf("%w: %w", ErrThrottled, cause)
		}
		return fmt.Errorf("%w: a batch made no progress after %d attempts", ErrThrottled, *idle)
	}
	*idle++
	return t.sleep(ctx, retryDelay(*idle-1))
}

// PutMany writes many items, replacing existing ones, in batches that are neither ordered nor
// atomic. If several items have the same key, the last one is written. After an error, some items
// may be written and others not.
func (e *Entity[T, K]) PutMany(ctx context.Context, t *Table, vs []T) error {
	return e.core.putMany(ctx, t, len(vs), func(i int) any { return &vs[i] })
}

func (e *entity) putMany(ctx context.Context, t *Table, n int, item func(i int) any) error {
	if err := e.refuseMutation("put many"); err != nil {
		return err
	}
	writes := make([]types.WriteRequest, 0, n)
	keys := make([]primaryKey, 0, n)
	for i := range n {
		it, err := e.encode(item(i), nil)
		if err != nil {
			return e.failed("put many", err)
		}
		writes = append(writes, types.WriteRequest{PutRequest: &types.PutRequest{Item: it}})
		keys = append(keys, keyOf(it))
	}
	if err := t.writeBatches(ctx, lastOfEachKey(writes, keys)); err != nil {
		return e.failed("put many", err)
	}
	return nil
}

// DeleteMany deletes many items, in batches that are neither ordered nor atomic. After an error,
// some items may be deleted.
func (e *Entity[T, K]) DeleteMany(ctx context.Context, t *Table, ks []K) error {
	return e.core.deleteMany(ctx, t, len(ks), func(i int) any { return &ks[i] })
}

func (e *entity) deleteMany(ctx context.Context, t *Table, n int, k func(i int) any) error {
	writes := make([]types.WriteRequest, 0, n)
	keys := make([]primaryKey, 0, n)
	for i := range n {
		key, err := e.key(k(i))
		if err != nil {
			return e.failed("delete many", err)
		}
		writes = append(writes, types.WriteRequest{DeleteRequest: &types.DeleteRequest{Key: key}})
		keys = append(keys, keyOf(key))
	}
	if err := t.writeBatches(ctx, lastOfEachKey(writes, keys)); err != nil {
		return e.failed("delete many", err)
	}
	return nil
}

// lastOfEachKey keeps only the last write for each key, because the API rejects two writes of a key
// in one batch.
func lastOfEachKey(writes []types.WriteRequest, keys []primaryKey) []types.WriteRequest {
	last := make(map[primaryKey]int, len(keys))
	for i, k := range keys {
		last[k] = i
	}
	kept := writes[:0]
	for i, k := range keys {
		if last[k] == i {
			kept = append(kept, writes[i])
		}
	}
	return kept
}

func (t *Table) writeBatches(ctx context.Context, writes []types.WriteRequest) error {
	for start := 0; start < len(writes); start += batchWriteOps {
		if err := t.writeBatch(ctx, writes[start:min(start+batchWriteOps, len(writes))]); err != nil {
			return err
		}
	}
	return nil
}

func (t *Table) writeBatch(ctx context.Context, left []types.WriteRequest) error {
	for idle := 0; len(left) > 0; {
		out, err := t.api.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{
			RequestItems: map[string][]types.WriteRequest{t.name: left},
		})
		if err != nil && !dynamo.IsThrottle(err) {
			return err
		}
		if err == nil {
			rest := out.UnprocessedItems[t.name]
			if len(rest) < len(left) {
				idle = 0
			}
			left = rest
		}
		if len(left) > 0 {
			if err := t.waitRetry(ctx, &idle, err); err != nil {
				return err
			}
		}
	}
	return nil
}
