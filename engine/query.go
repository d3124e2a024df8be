package engine

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/engine/internal/capacity"
	"github.com/onefold/onefold/engine/internal/catalog"
	"github.com/onefold/onefold/engine/internal/expr"
	"github.com/onefold/onefold/engine/internal/item"
	"github.com/onefold/onefold/engine/internal/keyenc"
	"github.com/onefold/onefold/engine/internal/request"
	"github.com/onefold/onefold/engine/internal/row"
)

// Query returns a page of one partition of a table or index, in the order of its sort key.
func (db *DB) Query(ctx context.Context, in *dynamodb.QueryInput, _ ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	if err := db.begin(ctx); err != nil {
		return nil, err
	}
	q := readParams{request.Read{
		Verb: "Query", Table: in.TableName, Index: in.IndexName, Select: in.Select, Limit: in.Limit, Consistent: in.ConsistentRead, Capacity: in.ReturnConsumedCapacity,
		KeyCondition: in.KeyConditionExpression, Filter: in.FilterExpression, Projection: in.ProjectionExpression, Operator: in.ConditionalOperator,
		Names: in.ExpressionAttributeNames, Values: in.ExpressionAttributeValues,
		Attributes: in.AttributesToGet, KeyConditions: in.KeyConditions, LegacyFilter: in.QueryFilter, Start: in.ExclusiveStartKey,
	}}
	r := &pageRequest{reverse: in.ScanIndexForward != nil && !*in.ScanIndexForward}
	keys, err := q.prepare(db, r)
	if err != nil {
		return nil, err
	}
	if err := q.partition(r, keys); err != nil {
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

// partition sets the range of rows that a key condition describes.
func (q *readParams) partition(r *pageRequest, keys *expr.KeyCondition) error {
	hash, rng := r.s.hash, r.s.rng
	prefix := row.AppendItemPrefix(nil, r.s.desc.ID)
	if r.x != nil {
		hash, rng, prefix = r.x.hash, r.x.rng, append([]byte(nil), r.x.prefix...)
	}
	value, cond, err := keys.Resolve(hash.Name, rng.Name)
	if err != nil {
		return err
	}
	if err := checkKeyOperand(value, hash, true); err != nil {
		return err
	}
	if prefix, err = appendPartition(prefix, value); err != nil {
		return err
	}
	r.lower, r.upper = prefix, row.UpperBound(prefix)
	if cond != nil {
		if err := r.narrow(prefix, cond, rng); err != nil {
			return err
		}
	}
	return q.startAfter(r, prefix, cond != nil)
}

// checkKeyOperand checks a value that a key is compared with.
func checkKeyOperand(v types.AttributeValue, a catalog.Key, hash bool) error {
	size, ok := catalog.KeySize(v, a.Type)
	if !ok {
		return dynamo.Validation("One or more parameter values were invalid: Condition parameter type does not match schema type")
	}
	if size == 0 && hash {
		return dynamo.Validation("One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty %s value. Key: %s", catalog.KindWord(a.Type), a.Name)
	}
	return catalog.CheckKeySize(size, hash)
}

// narrow sets the range within a partition that a sort condition describes.
func (r *pageRequest) narrow(partition []byte, cond *expr.SortCondition, rng catalog.Key) error {
	for _, v := range []types.AttributeValue{cond.Lo, cond.Hi} {
		if v == nil {
			continue
		}
		if err := checkKeyOperand(v, rng, false); err != nil {
			return err
		}
	}
	encode := keyenc.Append
	if cond.Op == expr.BEGINSWITH {
		encode = keyenc.AppendPrefix
	}
	lo, err := encode(append([]byte(nil), partition...), cond.Lo)
	if err != nil {
		return err
	}
	switch cond.Op {
	case expr.EQ, expr.BEGINSWITH:
		r.lower, r.upper = lo, row.UpperBound(lo)
	case expr.LT:
		r.upper = lo
	case expr.LE:
		r.upper = row.UpperBound(lo)
	case expr.GT:
		r.lower = row.UpperBound(lo)
	case expr.GE:
		r.lower = lo
	case expr.BETWEEN:
		hi, err := keyenc.Append(append([]byte(nil), partition...), cond.Hi)
		if err != nil {
			return err
		}
		r.lower, r.upper = lo, row.UpperBound(hi)
	}
	return nil
}

// startAfter sets where the page begins from the request's ExclusiveStartKey, whose item need not exist any more.
func (q *readParams) startAfter(r *pageRequest, partition []byte, narrowed bool) error {
	if q.Start == nil {
		return nil
	}
	key, err := r.startRow(q.Start, "The provided starting key is invalid")
	if err != nil {
		return err
	}
	if len(key) < len(partition) || string(key[:len(partition)]) != string(partition) {
		if narrowed {
			return dynamo.Validation("The query can return at most one row and cannot be restarted")
		}
		return dynamo.Validation("The provided starting key is outside query boundaries based on provided conditions")
	}
	if string(key) < string(r.lower) || r.upper != nil && string(key) >= string(r.upper) {
		return dynamo.Validation("The provided starting key does not match the range key predicate")
	}
	r.after = key
	return nil
}

// startRow returns the row key that an ExclusiveStartKey names.
func (r *pageRequest) startRow(start item.Item, invalid string) ([]byte, error) {
	start, err := request.Normalize(start)
	if err != nil {
		return nil, err
	}
	attrs := r.keyAttrs()
	if len(start) != len(attrs) {
		return nil, dynamo.Validation("%s", invalid)
	}
	for _, a := range attrs {
		size, ok := catalog.KeySize(start[a.Name], a.Type)
		if !ok {
			if start[a.Name] == nil {
				return nil, dynamo.Validation("%s", invalid)
			}
			return nil, dynamo.Validation("The provided starting key is invalid: %s", catalog.WrongKey)
		}
		if size == 0 {
			return nil, dynamo.Validation("The provided starting key is invalid: One or more parameter values are not valid. "+
				"The AttributeValue for a key attribute cannot contain an empty %s value. Key: %s", catalog.KindWord(a.Type), a.Name)
		}
	}
	if r.x == nil {
		return r.s.appendItemKey(nil, start)
	}
	primary, err := r.s.appendPrimary(nil, start)
	if err != nil {
		return nil, err
	}
	return r.x.appendRow(nil, start, primary)
}
