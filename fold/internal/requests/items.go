package requests

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/table"
)

// MaxItems is the maximum number of keys that Items reads, that of a BatchGetItem.
const MaxItems = 100

// ID returns a string that is unique to the key of an item. The separator byte does not occur in
// UTF-8.
func ID(key table.Item) string {
	return stringOf(key[table.AttrPK]) + "\xff" + stringOf(key[table.AttrSK])
}

func stringOf(av types.AttributeValue) string {
	s, ok := av.(*types.AttributeValueMemberS)
	if !ok {
		return ""
	}
	return s.Value
}

// Items reads up to MaxItems items, consistently, into a map by ID. Missing items are missing in
// the map. Items whose time to live is over are read as long as they exist, because writes on
// condition of their absence fail as long.
func (c *Client) Items(ctx context.Context, keys []table.Item) (map[string]table.Item, error) {
	found := make(map[string]table.Item, len(keys))
	name, consistent := c.Table.Name(), true
	for attempt := 0; len(keys) > 0; attempt++ {
		if attempt > 0 {
			c.Repeated.Add(1)
			if err := c.Sleep(ctx, c.Backoff(attempt)); err != nil {
				return nil, err
			}
		}
		if attempt > c.o.Retries {
			return nil, fmt.Errorf("%d items remained unprocessed", len(keys))
		}
		var out *dynamodb.BatchGetItemOutput
		err := c.Retry(ctx, func() (err error) {
			out, err = c.Table.API().BatchGetItem(ctx, &dynamodb.BatchGetItemInput{
				RequestItems: map[string]types.KeysAndAttributes{name: {Keys: keys, ConsistentRead: &consistent}},
			})
			return err
		})
		if err != nil {
			return nil, err
		}
		for _, it := range out.Responses[name] {
			found[ID(it)] = it
		}
		c.Read.Add(int64(len(out.Responses[name])))
		keys = out.UnprocessedKeys[name].Keys
	}
	return found, nil
}

// Each reads entities by key, as Items does, and passes those that exist to each, in no particular
// order.
func Each[T, K any](ctx context.Context, c *Client, e *table.Entity[T, K], keys []K, each func(T)) error {
	for len(keys) > 0 {
		n := min(len(keys), MaxItems)
		encoded := make([]table.Item, n)
		for i, k := range keys[:n] {
			var err error
			if encoded[i], err = e.Key(k); err != nil {
				return fmt.Errorf("fold: read %s: %w", e.Name(), err)
			}
		}
		keys = keys[n:]
		items, err := c.Items(ctx, encoded)
		if err != nil {
			return fmt.Errorf("fold: read %s: %w", e.Name(), err)
		}
		for _, it := range items {
			v, err := e.Decode(it)
			if err != nil {
				return fmt.Errorf("fold: read %s: %w", e.Name(), err)
			}
			each(v)
		}
	}
	return nil
}
