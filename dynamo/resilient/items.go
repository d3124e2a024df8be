package resilient

import (
	"context"
	"crypto/rand"
	"regexp"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Estimated bytes that a request holds until its response arrives, if the response is the larger
// part.
const (
	oneItem = 8 << 10
	onePage = 1 << 20
)

// PutItem implements dynamo.Items.
func (s *Store) PutItem(ctx context.Context, in *dynamodb.PutItemInput, o ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	r := request{op: "PutItem", takes: s.o.Single, bytes: sizeOf(in.Item), keys: func() []string { return keyOf(in.Item) }}
	return do(ctx, s.sender, r, func(ctx context.Context) (*dynamodb.PutItemOutput, error) { return s.inner.PutItem(ctx, in, o...) })
}

// GetItem implements dynamo.Items.
func (s *Store) GetItem(ctx context.Context, in *dynamodb.GetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	r := request{op: "GetItem", takes: s.o.Single, bytes: oneItem, keys: func() []string { return keyOf(in.Key) }}
	return do(ctx, s.sender, r, func(ctx context.Context) (*dynamodb.GetItemOutput, error) { return s.inner.GetItem(ctx, in, o...) })
}

// UpdateItem implements dynamo.Items. If an update that counts, or appends to a list or set, may
// have taken effect, it is not repeated, even with a condition: most conditions still hold after
// the update.
func (s *Store) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	r := request{op: "UpdateItem", takes: s.o.Single, bytes: sizeOf(in.ExpressionAttributeValues), once: accumulates(in.UpdateExpression),
		keys: func() []string { return keyOf(in.Key) }}
	return do(ctx, s.sender, r, func(ctx context.Context) (*dynamodb.UpdateItemOutput, error) {
		return s.inner.UpdateItem(ctx, in, o...)
	})
}

// accumulating matches parts of update expressions that have an effect each time they are executed.
var accumulating = regexp.MustCompile(`(?i)\bADD\b|[+-]|\blist_append\b`)

func accumulates(update *string) bool { return update != nil && accumulating.MatchString(*update) }

// DeleteItem implements dynamo.Items.
func (s *Store) DeleteItem(ctx context.Context, in *dynamodb.DeleteItemInput, o ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error) {
	r := request{op: "DeleteItem", takes: s.o.Single, bytes: oneItem, keys: func() []string { return keyOf(in.Key) }}
	return do(ctx, s.sender, r, func(ctx context.Context) (*dynamodb.DeleteItemOutput, error) {
		return s.inner.DeleteItem(ctx, in, o...)
	})
}

// Query implements dynamo.Items.
func (s *Store) Query(ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	r := request{op: "Query", takes: s.o.Several, bytes: onePage, keys: func() []string { return keyOfQuery(in) }}
	return do(ctx, s.sender, r, func(ctx context.Context) (*dynamodb.QueryOutput, error) { return s.inner.Query(ctx, in, o...) })
}

// Scan implements dynamo.Items.
func (s *Store) Scan(ctx context.Context, in *dynamodb.ScanInput, o ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error) {
	r := request{op: "Scan", takes: s.o.Several, bytes: onePage}
	return do(ctx, s.sender, r, func(ctx context.Context) (*dynamodb.ScanOutput, error) { return s.inner.Scan(ctx, in, o...) })
}

// BatchGetItem implements dynamo.Items. Callers must repeat unprocessed keys.
func (s *Store) BatchGetItem(ctx context.Context, in *dynamodb.BatchGetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	r := request{op: "BatchGetItem", takes: s.o.Several, bytes: onePage, keys: func() (keys []string) {
		for _, of := range in.RequestItems {
			for _, key := range of.Keys {
				keys = append(keys, keyOf(key)...)
			}
		}
		return keys
	}}
	return do(ctx, s.sender, r, func(ctx context.Context) (*dynamodb.BatchGetItemOutput, error) {
		return s.inner.BatchGetItem(ctx, in, o...)
	})
}

// BatchWriteItem implements dynamo.Items. Callers must repeat unprocessed items.
func (s *Store) BatchWriteItem(ctx context.Context, in *dynamodb.BatchWriteItemInput, o ...func(*dynamodb.Options)) (*dynamodb.BatchWriteItemOutput, error) {
	r := request{op: "BatchWriteItem", takes: s.o.Several}
	for _, writes := range in.RequestItems {
		for i := range writes {
			r.bytes += sizeOf(itemOf(&writes[i]))
		}
	}
	r.keys = func() (keys []string) {
		for _, writes := range in.RequestItems {
			for i := range writes {
				keys = append(keys, keyOf(itemOf(&writes[i]))...)
			}
		}
		return keys
	}
	return do(ctx, s.sender, r, func(ctx context.Context) (*dynamodb.BatchWriteItemOutput, error) {
		return s.inner.BatchWriteItem(ctx, in, o...)
	})
}

// itemOf returns the item or key of a write in a batch.
func itemOf(w *types.WriteRequest) map[string]types.AttributeValue {
	switch {
	case w.PutRequest != nil:
		return w.PutRequest.Item
	case w.DeleteRequest != nil:
		return w.DeleteRequest.Key
	}
	return nil
}

// TransactWriteItems implements dynamo.Items. It adds a token if there is none, so that repeating
// the transaction has no second effect.
func (s *Store) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, o ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	if in.ClientRequestToken == nil {
		named, token := *in, rand.Text()
		named.ClientRequestToken = &token
		in = &named
	}
	r := request{op: "TransactWriteItems", takes: s.o.Several, keys: func() []string { return keysOfActions(in.TransactItems) }}
	for i := range in.TransactItems {
		r.bytes += sizeOf(itemOfAction(&in.TransactItems[i]))
	}
	return do(ctx, s.sender, r, func(ctx context.Context) (*dynamodb.TransactWriteItemsOutput, error) {
		return s.inner.TransactWriteItems(ctx, in, o...)
	})
}

// keysOfActions returns the partition keys of the actions, in their order.
func keysOfActions(actions []types.TransactWriteItem) []string {
	keys := make([]string, len(actions))
	for i := range actions {
		if key := keyOf(itemOfAction(&actions[i])); key != nil {
			keys[i] = key[0]
		}
	}
	return keys
}

func itemOfAction(a *types.TransactWriteItem) map[string]types.AttributeValue {
	switch {
	case a.Put != nil:
		return a.Put.Item
	case a.Update != nil:
		return a.Update.Key
	case a.Delete != nil:
		return a.Delete.Key
	case a.ConditionCheck != nil:
		return a.ConditionCheck.Key
	}
	return nil
}

// TransactGetItems implements dynamo.Items.
func (s *Store) TransactGetItems(ctx context.Context, in *dynamodb.TransactGetItemsInput, o ...func(*dynamodb.Options)) (*dynamodb.TransactGetItemsOutput, error) {
	r := request{op: "TransactGetItems", takes: s.o.Several, bytes: onePage}
	return do(ctx, s.sender, r, func(ctx context.Context) (*dynamodb.TransactGetItemsOutput, error) {
		return s.inner.TransactGetItems(ctx, in, o...)
	})
}

// partitionKey is the name of the partition key in all tables of this project.
const partitionKey = "pk"

// keyOf returns the partition key of an item or key, or nothing if it is not a string.
func keyOf(it map[string]types.AttributeValue) []string {
	if pk, ok := it[partitionKey].(*types.AttributeValueMemberS); ok {
		return []string{pk.Value}
	}
	return nil
}

// equality matches the condition on the partition key, which comes first in expressions built by
// the SDK.
var equality = regexp.MustCompile(`(#?[A-Za-z0-9_]+) = (:[A-Za-z0-9_]+)`)

// keyOfQuery returns the partition key requested by a query of a table or index.
func keyOfQuery(in *dynamodb.QueryInput) []string {
	for _, found := range equality.FindAllStringSubmatch(deref(in.KeyConditionExpression), -1) {
		name := found[1]
		if real, ok := in.ExpressionAttributeNames[name]; ok {
			name = real
		}
		pk, ok := in.ExpressionAttributeValues[found[2]].(*types.AttributeValueMemberS)
		if ok && strings.HasSuffix(name, partitionKey) {
			return []string{pk.Value}
		}
	}
	return nil
}

// sizeOf returns the approximate size of an item in bytes.
func sizeOf(it map[string]types.AttributeValue) int64 {
	size := int64(0)
	for name, v := range it {
		size += int64(len(name)) + sizeOfValue(v)
	}
	return size
}

func sizeOfValue(v types.AttributeValue) int64 {
	const around = 16
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return around + int64(len(v.Value))
	case *types.AttributeValueMemberN:
		return around + int64(len(v.Value))
	case *types.AttributeValueMemberB:
		return around + int64(len(v.Value))
	case *types.AttributeValueMemberM:
		return around + sizeOf(v.Value)
	case *types.AttributeValueMemberL:
		size := int64(around)
		for _, e := range v.Value {
			size += sizeOfValue(e)
		}
		return size
	case *types.AttributeValueMemberSS:
		size := int64(around)
		for _, e := range v.Value {
			size += int64(len(e))
		}
		return size
	}
	return around
}
