// Package meter measures the cost of reads.
package meter

import (
	"context"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/table"
)

// Cost is the cost of reads.
type Cost struct {
	Requests  int     // Query and GetItem calls
	ReadUnits float64 // consumed read capacity
}

// Meter is a dynamo.API that counts its reads.
type Meter struct {
	dynamo.API
	Table *table.Table // reads through the meter

	mu   sync.Mutex
	sums Cost
}

// New returns a meter for the reads of a table.
func New(t *table.Table) *Meter {
	m := &Meter{API: t.API()}
	m.Table = table.New(m, t.Name(), table.Options{Clock: t.Now})
	return m
}

// Cost returns the cost so far.
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

// Query runs a query and counts it as one request.
func (m *Meter) Query(ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	metered := *in
	metered.ReturnConsumedCapacity = types.ReturnConsumedCapacityTotal
	out, err := m.API.Query(ctx, &metered, o...)
	if err == nil {
		m.add(out.ConsumedCapacity)
	}
	return out, err
}

// GetItem reads an item and counts it.
func (m *Meter) GetItem(ctx context.Context, in *dynamodb.GetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	metered := *in
	metered.ReturnConsumedCapacity = types.ReturnConsumedCapacityTotal
	out, err := m.API.GetItem(ctx, &metered, o...)
	if err == nil {
		m.add(out.ConsumedCapacity)
	}
	return out, err
}
