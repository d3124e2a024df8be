package request

import (
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/engine/internal/expr"
	"github.com/onefold/onefold/engine/internal/item"
)

// DynamoDB's limits for batches.
const (
	maxBatchWrites = 25
	maxBatchGets   = 100
	MaxBatchBytes  = 16 << 20
)

// Errors for requests that name an item twice.
const (
	DuplicateKeys    = "Provided list of item keys contains duplicates"
	DuplicateActions = "Transaction request cannot include multiple operations on one item"
)

// BatchWrites validates a BatchWriteItem and returns its writes, by table.
func BatchWrites(in *dynamodb.BatchWriteItemInput) ([]Write, error) {
	var cs Members
	cs.CheckReturns(in.ReturnConsumedCapacity, in.ReturnItemCollectionMetrics, "")
	if err := cs.Err(); err != nil {
		return nil, err
	}
	if len(in.RequestItems) == 0 {
		return nil, Invalid("The requestItems parameter is required for BatchWriteItem")
	}
	tables := slices.Sorted(maps.Keys(in.RequestItems))
	for _, table := range tables {
		if n := len(in.RequestItems[table]); n == 0 || n > maxBatchWrites {
			cs.Add("{"+table+"=[...]}", "requestItems", "Map value must satisfy constraint: [Member must have length less than or equal to 25, Member must have length greater than or equal to 1]")
		}
	}
	if err := cs.Err(); err != nil {
		return nil, err
	}
	var writes []Write
	bytes := 0
	for _, table := range tables {
		for _, r := range in.RequestItems[table] {
			w, err := batchWrite(&table, r)
			if err != nil {
				return nil, err
			}
			bytes += item.Size(w.Keyed)
			writes = append(writes, w)
		}
	}
	if len(writes) > maxBatchWrites {
		return nil, Invalid("Too many items requested for the BatchWriteItem call")
	}
	if bytes > MaxBatchBytes {
		return nil, Invalid("Request size exceeded the maximum of 16 MB")
	}
	return writes, nil
}

func batchWrite(table *string, w types.WriteRequest) (Write, error) {
	put, del := w.PutRequest, w.DeleteRequest
	switch {
	case put != nil && del != nil:
		return Write{}, Invalid("Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes")
	case put != nil:
		it, err := Normalize(put.Item)
		return Write{Verb: Put, Table: table, Keyed: it}, err
	case del != nil:
		key, err := Normalize(del.Key)
		return Write{Verb: Delete, Table: table, Keyed: key}, err
	}
	return Write{}, Invalid("Supplied AttributeValue is empty, must contain exactly one of the supported datatypes")
}

// Gets is the part of a BatchGetItem for one table.
type Gets struct {
	Table      string
	Keys       []item.Item
	Projection *expr.Projection
	Consistent bool
}

// BatchGets validates a BatchGetItem and returns its reads, by table.
func BatchGets(p *expr.Parser, in *dynamodb.BatchGetItemInput) ([]Gets, error) {
	var cs Members
	cs.CheckReturns(in.ReturnConsumedCapacity, "", "")
	if err := cs.Err(); err != nil {
		return nil, err
	}
	if len(in.RequestItems) == 0 {
		return nil, Invalid("The requestItems parameter is required for BatchGetItem")
	}
	tables := slices.Sorted(maps.Keys(in.RequestItems))
	for _, table := range tables {
		if n := len(in.RequestItems[table].Keys); n == 0 || n > maxBatchGets {
			bound := "less than or equal to 100"
			if n == 0 {
				bound = "greater than or equal to 1"
			}
			return nil, Invalid("1 validation error detected: Value at 'RequestItems.%s.member.Keys' failed to satisfy constraint: Member must have length %s", table, bound)
		}
	}
	all, total := make([]Gets, 0, len(tables)), 0
	for _, table := range tables {
		g, err := gets(p, table, in.RequestItems[table])
		if err != nil {
			return nil, err
		}
		total += len(g.Keys)
		all = append(all, g)
	}
	if total > maxBatchGets {
		return nil, Invalid("Too many items requested for the BatchGetItem call")
	}
	return all, nil
}

func gets(p *expr.Parser, table string, ka types.KeysAndAttributes) (Gets, error) {
	g := Gets{Table: table, Consistent: IsTrue(ka.ConsistentRead), Keys: make([]item.Item, 0, len(ka.Keys))}
	sel := Selection{Projection: ka.ProjectionExpression, Names: ka.ExpressionAttributeNames, Attributes: ka.AttributesToGet}
	if err := sel.Check(); err != nil {
		return g, err
	}
	for _, key := range ka.Keys {
		key, err := Normalize(key)
		if err != nil {
			return g, err
		}
		g.Keys = append(g.Keys, key)
	}
	var err error
	g.Projection, err = sel.Bind(p)
	return g, err
}
