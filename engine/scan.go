package engine

import (
	"context"
	"encoding/binary"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/engine/internal/capacity"
	"github.com/onefold/onefold/engine/internal/catalog"
	"github.com/onefold/onefold/engine/internal/request"
	"github.com/onefold/onefold/engine/internal/row"
)

// Scan returns a page of a whole table or index, or of one of its segments. Items come in the order of the hash of
// their partition keys, so that a segment is a range.
func (db *DB) Scan(ctx context.Context, in *dynamodb.ScanInput, _ ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error) {
	if err := db.begin(ctx); err != nil {
		return nil, err
	}
	q := readParams{request.Read{
		Verb: "Scan", Table: in.TableName, Index: in.IndexName, Select: in.Select, Limit: in.Limit, Consistent: in.ConsistentRead, Capacity: in.ReturnConsumedCapacity,
		Filter: in.FilterExpression, Projection: in.ProjectionExpression, Operator: in.ConditionalOperator,
		Names: in.ExpressionAttributeNames, Values: in.ExpressionAttributeValues,
		Attributes: in.AttributesToGet, LegacyFilter: in.ScanFilter, Start: in.ExclusiveStartKey,
	}}
	if err := request.CheckSegments(in.Segment, in.TotalSegments); err != nil {
		return nil, err
	}
	r := new(pageRequest)
	if _, err := q.prepare(db, r); err != nil {
		return nil, err
	}
	if err := q.segment(r, in.Segment, in.TotalSegments); err != nil {
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

// segment sets the range of rows of a segment.
func (q *readParams) segment(r *pageRequest, segment, total *int32) error {
	prefix := row.AppendItemPrefix(nil, r.s.desc.ID)
	if r.x != nil {
		prefix = r.x.prefix
	}
	r.lower, r.upper = prefix, row.UpperBound(prefix)
	if segment != nil {
		const hashes = uint64(1) << 32
		from, to := hashes*uint64(*segment)/uint64(*total), hashes*uint64(*segment+1)/uint64(*total)
		r.lower = binary.BigEndian.AppendUint32(append([]byte(nil), prefix...), uint32(from))
		if to < hashes {
			r.upper = binary.BigEndian.AppendUint32(append([]byte(nil), prefix...), uint32(to))
		}
	}
	if q.Start == nil {
		return nil
	}
	key, err := r.startRow(q.Start, "The provided starting key is invalid: "+catalog.WrongKey)
	if err != nil {
		return err
	}
	if string(key) < string(r.lower) || string(key) >= string(r.upper) {
		return dynamo.Validation("The provided starting key is invalid: Invalid ExclusiveStartKey. Please use ExclusiveStartKey with correct Segment. TotalSegments: %d Segment: %d", *total, *segment)
	}
	r.after = key
	return nil
}
