package engine

import (
	"context"
	"encoding/binary"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/onefold/onefold/dynamo"
)

// Scan returns a page of a whole table or index, or of one of its segments. Items come in the order of the hash of
// their partition keys, so that a segment is a range.
func (db *DB) Scan(ctx context.Context, in *dynamodb.ScanInput, _ ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error) {
	if err := db.begin(ctx); err != nil {
		return nil, err
	}
	q := readParams{
		verb: "Scan", table: in.TableName, index: in.IndexName, sel: in.Select, limit: in.Limit, consistent: in.ConsistentRead, capacity: in.ReturnConsumedCapacity,
		filter: in.FilterExpression, projection: in.ProjectionExpression, operator: in.ConditionalOperator,
		names: in.ExpressionAttributeNames, values: in.ExpressionAttributeValues,
		attributes: in.AttributesToGet, legacyFilter: in.ScanFilter, start: in.ExclusiveStartKey,
	}
	if err := checkSegments(in.Segment, in.TotalSegments); err != nil {
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
		ConsumedCapacity: r.s.consumed(in.ReturnConsumedCapacity, p.use),
	}, nil
}

const maxSegments = 1_000_000

func checkSegments(segment, total *int32) error {
	var c constraints
	if total != nil && *total < 1 {
		c.add(strconv.Itoa(int(*total)), "totalSegments", "Member must have value greater than or equal to 1")
	}
	if total != nil && *total > maxSegments {
		c.add(strconv.Itoa(int(*total)), "totalSegments", "Member must have value less than or equal to 1000000")
	}
	if segment != nil && *segment < 0 {
		c.add(strconv.Itoa(int(*segment)), "segment", "Member must have value greater than or equal to 0")
	}
	switch {
	case len(c) > 0:
		return c.err()
	case segment != nil && total == nil:
		return dynamo.Validation("The TotalSegments parameter is required but was not present in the request when Segment parameter is present")
	case segment == nil && total != nil:
		return dynamo.Validation("The Segment parameter is required but was not present in the request when parameter TotalSegments is present")
	case segment != nil && *segment >= *total:
		return dynamo.Validation("The Segment parameter is zero-based and must be less than parameter TotalSegments: Segment: %d is not less than TotalSegments: %d", *segment, *total)
	}
	return nil
}

// segment sets the range of rows of a segment.
func (q *readParams) segment(r *pageRequest, segment, total *int32) error {
	prefix := appendItemPrefix(nil, r.s.desc.ID)
	if r.x != nil {
		prefix = r.x.prefix
	}
	r.lower, r.upper = prefix, upperBound(prefix)
	if segment != nil {
		const hashes = uint64(1) << 32
		from, to := hashes*uint64(*segment)/uint64(*total), hashes*uint64(*segment+1)/uint64(*total)
		r.lower = binary.BigEndian.AppendUint32(append([]byte(nil), prefix...), uint32(from))
		if to < hashes {
			r.upper = binary.BigEndian.AppendUint32(append([]byte(nil), prefix...), uint32(to))
		}
	}
	if q.start == nil {
		return nil
	}
	key, err := r.startRow(q.start, "The provided starting key is invalid: "+wrongKey)
	if err != nil {
		return err
	}
	if string(key) < string(r.lower) || string(key) >= string(r.upper) {
		return dynamo.Validation("The provided starting key is invalid: Invalid ExclusiveStartKey. Please use ExclusiveStartKey with correct Segment. TotalSegments: %d Segment: %d", *total, *segment)
	}
	r.after = key
	return nil
}
