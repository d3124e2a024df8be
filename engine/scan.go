package engine

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/onefold/onefold/engine/internal/capacity"
	"github.com/onefold/onefold/engine/internal/request"
)

// Scan returns a page of a table or index, or of one of its segments. Items are in the order of the
// hashes of their partition keys, so that a segment is a range.
func (db *DB) Scan(ctx context.Context, in *dynamodb.ScanInput, _ ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error) {
	call, err := begin(ctx, db, &in)
	if err != nil {
		return nil, err
	}
	defer call.End()
	q := request.Read{
		Verb: "Scan", Table: in.TableName, Index: in.IndexName, Select: in.Select, Limit: in.Limit, Consistent: in.ConsistentRead, Capacity: in.ReturnConsumedCapacity,
		Filter: in.FilterExpression, Projection: in.ProjectionExpression, Operator: in.ConditionalOperator,
		Names: in.ExpressionAttributeNames, Values: in.ExpressionAttributeValues,
		Attributes: in.AttributesToGet, LegacyFilter: in.ScanFilter, Start: in.ExclusiveStartKey,
	}
	if err := request.CheckSegments(in.Segment, in.TotalSegments); err != nil {
		return nil, err
	}
	r, err := db.pageRequest(&q)
	if err != nil {
		return nil, err
	}
	if r.Range, err = r.s.Scan(&q, r.x, in.Segment, in.TotalSegments); err != nil {
		return nil, err
	}
	p, err := db.readPage(r)
	if err != nil {
		return nil, err
	}
	return &dynamodb.ScanOutput{
		Items: p.itemsOut(r.countOnly), Count: int32(p.count), ScannedCount: int32(p.scanned), LastEvaluatedKey: p.last,
		ConsumedCapacity: capacity.Consumed(r.s.desc, in.ReturnConsumedCapacity, p.use),
	}, nil
}
