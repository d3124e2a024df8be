// Package meter counts what reads cost. It is a part of analytics, and used by nobody else.
package meter

import (
	"context"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/table"
)

// Cost is what reads consumed.
type Cost struct {
	Requests  int     // Query and GetItem calls
	ReadUnits float64 // consumed read capacity
}

// Meter is the API with its reads counted.
type Meter struct {
	dynamo.API
	Table *table.Table // that reads through the meter

	mu   sync.Mutex
	sums Cost
}

// New counts what is read of a table from now on.
func New(t *table.Table) *Meter {
	m := &Meter{API: t.API()}
	m.Table = table.New(m, t.Name(), table.Options{Clock: t.Now})
	return m
}

// Cost is what was counted so far.
func (m *Meter) Cost() Cost {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.sums
}

func (m *Meter) add(c *types.ConsumedCapacity) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sums.Requests++
	if c != nil && c.CapacityUnits != nil {
		m.sums.ReadUnits += *c.CapacityUnits
	}
}

// Query counts a page.
func (m *Meter) Query(ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	metered := *in
	metered.ReturnConsumedCapacity = types.ReturnConsumedCapacityTotal
	out, err := m.API.Query(ctx, &metered, o...)
	if err == nil {
		m.add(out.ConsumedCapacity)
	}
	return out, err
}

// GetItem counts a read of one item.
func (m *Meter) GetItem(ctx context.Context, in *dynamodb.GetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	metered := *in
	metered.ReturnConsumedCapacity = types.ReturnConsumedCapacityTotal
	out, err := m.API.GetItem(ctx, &metered, o...)
	if err == nil {
		m.add(out.ConsumedCapacity)
	}
	return out, err
}
