package blueprint

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/dynamo/dynamojson"
	"github.com/onefold/onefold/table"
)

// Call is one request made by a pattern.
type Call struct {
	Operation  string          `json:"operation"`
	Request    json.RawMessage `json:"request"` // in the API's JSON
	Items      int             `json:"items"`   // returned or written
	Bytes      int             `json:"bytes"`   // their total size
	Sizes      []int           `json:"-"`       // of each
	Indexed    []int           `json:"-"`       // number of indexes that contain each
	Consistent bool            `json:"consistent,omitempty"`
	Read       float64         `json:"readUnits"`
	Write      float64         `json:"writeUnits"`
}

// meter is a store that records each request with the capacity it consumes.
type meter struct {
	dynamo.API

	mu    sync.Mutex // shards of a partition are queried concurrently
	calls []*Call
}

// take returns the calls since the last take. Concurrent queries are sorted by their requests.
func (m *meter) take() []Call {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.calls) > 0 && !slices.ContainsFunc(m.calls, func(c *Call) bool { return c.Operation != "Query" }) {
		slices.SortStableFunc(m.calls, func(a, b *Call) int { return bytes.Compare(a.Request, b.Request) })
	}
	taken := make([]Call, len(m.calls))
	for i, c := range m.calls {
		taken[i] = *c
	}
	m.calls = nil
	return taken
}

const capacity = types.ReturnConsumedCapacityIndexes

// call records a request before the meter adds the parameter for consumed capacity.
func (m *meter) call(operation string, in smithy.Serializable) *Call {
	c := &Call{Operation: operation, Request: bytes.TrimSpace(dynamojson.AppendOrdered(nil, in))}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls = append(m.calls, c)
	return c
}

func (c *Call) saw(items ...table.Item) {
	for _, it := range items {
		if len(it) > 0 {
			n := table.ItemSize(it)
			c.Items, c.Bytes, c.Sizes, c.Indexed = c.Items+1, c.Bytes+n, append(c.Sizes, n), append(c.Indexed, indexed(it))
		}
	}
}

func (c *Call) took(writes bool, used ...types.ConsumedCapacity) {
	into := &c.Read
	if writes {
		into = &c.Write
	}
	for _, u := range used {
		if u.CapacityUnits != nil {
			*into += *u.CapacityUnits
		}
	}
}

func one(u *types.ConsumedCapacity) types.ConsumedCapacity {
	if u == nil {
		return types.ConsumedCapacity{}
	}
	return *u
}

// Query implements dynamo.API.
func (m *meter) Query(ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	asked, c := *in, m.call("Query", in)
	asked.ReturnConsumedCapacity = capacity
	out, err := m.API.Query(ctx, &asked, o...)
	if err != nil {
		return nil, err
	}
	c.Consistent = in.ConsistentRead != nil && *in.ConsistentRead
	c.saw(out.Items...)
	c.took(false, one(out.ConsumedCapacity))
	return out, nil
}

// GetItem implements dynamo.API.
func (m *meter) GetItem(ctx context.Context, in *dynamodb.GetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	asked, c := *in, m.call("GetItem", in)
	asked.ReturnConsumedCapacity = capacity
	out, err := m.API.GetItem(ctx, &asked, o...)
	if err != nil {
		return nil, err
	}
	c.Consistent = in.ConsistentRead != nil && *in.ConsistentRead
	c.saw(out.Item)
	c.took(false, one(out.ConsumedCapacity))
	return out, nil
}

// PutItem implements dynamo.API. A write whose condition fails consumes as much as a successful
// one.
func (m *meter) PutItem(ctx context.Context, in *dynamodb.PutItemInput, o ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	asked, c := *in, m.call("PutItem", in)
	asked.ReturnConsumedCapacity = capacity
	c.saw(in.Item)
	out, err := m.API.PutItem(ctx, &asked, o...)
	if err != nil {
		return nil, err
	}
	c.took(true, one(out.ConsumedCapacity))
	return out, nil
}

// UpdateItem implements dynamo.API.
func (m *meter) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	asked, c := *in, m.call("UpdateItem", in)
	asked.ReturnConsumedCapacity = capacity
	out, err := m.API.UpdateItem(ctx, &asked, o...)
	if err != nil {
		return nil, err
	}
	c.Items = 1
	c.took(true, one(out.ConsumedCapacity))
	return out, nil
}

// DeleteItem implements dynamo.API.
func (m *meter) DeleteItem(ctx context.Context, in *dynamodb.DeleteItemInput, o ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error) {
	asked, c := *in, m.call("DeleteItem", in)
	asked.ReturnConsumedCapacity = capacity
	out, err := m.API.DeleteItem(ctx, &asked, o...)
	if err != nil {
		return nil, err
	}
	c.Items = 1
	c.took(true, one(out.ConsumedCapacity))
	return out, nil
}

// TransactWriteItems implements dynamo.API.
func (m *meter) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, o ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	asked, c := *in, m.call("TransactWriteItems", in)
	asked.ReturnConsumedCapacity = capacity
	out, err := m.API.TransactWriteItems(ctx, &asked, o...)
	if err != nil {
		return nil, err
	}
	for i := range in.TransactItems {
		if put := in.TransactItems[i].Put; put != nil {
			c.saw(put.Item)
		} else {
			c.Items++
		}
	}
	c.took(true, out.ConsumedCapacity...)
	return out, nil
}

// BatchGetItem implements dynamo.API.
func (m *meter) BatchGetItem(ctx context.Context, in *dynamodb.BatchGetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	asked, c := *in, m.call("BatchGetItem", in)
	asked.ReturnConsumedCapacity = capacity
	out, err := m.API.BatchGetItem(ctx, &asked, o...)
	if err != nil {
		return nil, err
	}
	for _, asked := range in.RequestItems {
		c.Consistent = c.Consistent || asked.ConsistentRead != nil && *asked.ConsistentRead
	}
	for _, items := range out.Responses {
		c.saw(items...)
	}
	c.took(false, out.ConsumedCapacity...)
	return out, nil
}
