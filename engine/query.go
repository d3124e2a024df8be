package engine

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/engine/internal/capacity"
	"github.com/onefold/onefold/engine/internal/item"
	"github.com/onefold/onefold/engine/internal/request"
)

// Query returns a page of one partition of a table or index, in the order of the sort key.
func (db *DB) Query(ctx context.Context, in *dynamodb.QueryInput, _ ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	return db.query(ctx, in, false, nil)
}

// QueryValues implements dynamo.ValuesReader.
func (db *DB) QueryValues(ctx context.Context, in *dynamodb.QueryInput, names []string, visit func([]types.AttributeValue) error) (*dynamodb.QueryOutput, error) {
	return db.query(ctx, in, false, item.NewColumns(names, visit))
}

func (db *DB) query(ctx context.Context, in *dynamodb.QueryInput, keysInFilter bool, columns *item.Columns) (*dynamodb.QueryOutput, error) {
	call, err := begin(ctx, db, &in)
	if err != nil {
		return nil, err
	}
	defer call.End()
	q := request.Read{
		Verb: "Query", Table: in.TableName, Index: in.IndexName, Select: in.Select, Limit: in.Limit, Consistent: in.ConsistentRead, Capacity: in.ReturnConsumedCapacity,
		KeyCondition: in.KeyConditionExpression, Filter: in.FilterExpression, Projection: in.ProjectionExpression, Operator: in.ConditionalOperator,
		Names: in.ExpressionAttributeNames, Values: in.ExpressionAttributeValues,
		Attributes: in.AttributesToGet, KeyConditions: in.KeyConditions, LegacyFilter: in.QueryFilter, Start: in.ExclusiveStartKey,
		KeysInFilter: keysInFilter,
	}
	r, err := db.pageRequest(&q)
	if err != nil {
		return nil, err
	}
	r.columns, r.reverse = columns, in.ScanIndexForward != nil && !*in.ScanIndexForward
	if r.Range, err = r.s.Query(&q, r.x); err != nil {
		return nil, err
	}
	p, err := db.readPage(r)
	if err != nil {
		return nil, err
	}
	return &dynamodb.QueryOutput{
		Items: p.itemsOut(r.countOnly), Count: int32(p.count), ScannedCount: int32(p.scanned), LastEvaluatedKey: p.last,
		ConsumedCapacity: capacity.Consumed(r.s.desc, in.ReturnConsumedCapacity, p.use),
	}, nil
}
