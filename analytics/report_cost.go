package analytics

import (
	"context"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/table"
)

// meter is the API with its reads counted.
type meter struct {
	dynamo.API
	table *table.Table // that reads through the meter

	mu   sync.Mutex
	sums Cost
}

func newMeter(t *table.Table) *meter {
	m := &meter{API: t.API()}
	m.table = table.New(m, t.Name(), table.Options{Clock: t.Now})
	return m
}

func (m *meter) cost() Cost {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.sums
}

func (m *meter) add(c *types.ConsumedCapacity) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sums.Requests++
	if c != nil && c.CapacityUnits != nil {
		m.sums.ReadUnits += *c.CapacityUnits
	}
}

// Query counts a page.
func (m *meter) Query(ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	metered := *in
	metered.ReturnConsumedCapacity = types.ReturnConsumedCapacityTotal
	out, err := m.API.Query(ctx, &metered, o...)
	if err == nil {
		m.add(out.ConsumedCapacity)
	}
	return out, err
}

// GetItem counts a read of one item.
func (m *meter) GetItem(ctx context.Context, in *dynamodb.GetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	metered := *in
	metered.ReturnConsumedCapacity = types.ReturnConsumedCapacityTotal
	out, err := m.API.GetItem(ctx, &metered, o...)
	if err == nil {
		m.add(out.ConsumedCapacity)
	}
	return out, err
}
