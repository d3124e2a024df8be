package enginetest

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// tableOf returns the table name from a name or ARN.
func tableOf(name *string) string {
	if name == nil {
		return ""
	}
	if _, table, ok := strings.Cut(*name, ":table/"); ok {
		return table
	}
	return *name
}

// given replaces a nil input with an empty one, like the SDK's client.
func given[In any](in *In) *In {
	if in == nil {
		return new(In)
	}
	return in
}

// answer runs a request unless a fault occurs.
func answer[Out any](db *DB, run func() (*Out, error), accesses ...Access) (*Out, error) {
	effect, struck := db.judge(accesses...).one()
	if struck && effect != LoseAnswer {
		return nil, effect.err(accesses[0])
	}
	out, err := run()
	return unless(struck, out, err)
}

// PutItem calls the engine unless a fault occurs.
func (db *DB) PutItem(ctx context.Context, in *dynamodb.PutItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	in = given(in)
	return answer(db, func() (*dynamodb.PutItemOutput, error) { return db.DB.PutItem(ctx, in) }, Access{"PutItem", tableOf(in.TableName), in.Item, true})
}

// PutItems calls the engine, except for puts with a fault.
func (db *DB) PutItems(ctx context.Context, ins []*dynamodb.PutItemInput) []error {
	errs, rest, at := make([]error, len(ins)), make([]*dynamodb.PutItemInput, 0, len(ins)), make([]int, 0, len(ins))
	lost := make([]error, len(ins))
	for i, in := range ins {
		in = given(in)
		a := Access{"PutItem", tableOf(in.TableName), in.Item, true}
		effect, struck := db.judge(a).one()
		if struck && effect != LoseAnswer {
			errs[i] = effect.err(a)
			continue
		}
		if struck {
			lost[i] = effect.err(a)
		}
		rest, at = append(rest, in), append(at, i)
	}
	for i, err := range db.DB.PutItems(ctx, rest) {
		if errs[at[i]] = err; err == nil {
			errs[at[i]] = lost[at[i]]
		}
	}
	return errs
}

// GetItem calls the engine unless a fault occurs.
func (db *DB) GetItem(ctx context.Context, in *dynamodb.GetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	in = given(in)
	return answer(db, func() (*dynamodb.GetItemOutput, error) { return db.DB.GetItem(ctx, in) }, Access{"GetItem", tableOf(in.TableName), in.Key, false})
}

// UpdateItem calls the engine unless a fault occurs.
func (db *DB) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	in = given(in)
	return answer(db, func() (*dynamodb.UpdateItemOutput, error) { return db.DB.UpdateItem(ctx, in) }, Access{"UpdateItem", tableOf(in.TableName), in.Key, true})
}

// DeleteItem calls the engine unless a fault occurs.
func (db *DB) DeleteItem(ctx context.Context, in *dynamodb.DeleteItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error) {
	in = given(in)
	return answer(db, func() (*dynamodb.DeleteItemOutput, error) { return db.DB.DeleteItem(ctx, in) }, Access{"DeleteItem", tableOf(in.TableName), in.Key, true})
}

// Query calls the engine unless a fault occurs.
func (db *DB) Query(ctx context.Context, in *dynamodb.QueryInput, _ ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	in = given(in)
	return answer(db, func() (*dynamodb.QueryOutput, error) { return db.DB.Query(ctx, in) }, Access{"Query", tableOf(in.TableName), nil, false})
}

// QueryValues calls the engine unless a fault of Query occurs.
func (db *DB) QueryValues(ctx context.Context, in *dynamodb.QueryInput, names []string, visit func([]types.AttributeValue) error) (*dynamodb.QueryOutput, error) {
	in = given(in)
	return answer(db, func() (*dynamodb.QueryOutput, error) { return db.DB.QueryValues(ctx, in, names, visit) }, Access{"Query", tableOf(in.TableName), nil, false})
}

// Scan calls the engine unless a fault occurs.
func (db *DB) Scan(ctx context.Context, in *dynamodb.ScanInput, _ ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error) {
	in = given(in)
	return answer(db, func() (*dynamodb.ScanOutput, error) { return db.DB.Scan(ctx, in) }, Access{"Scan", tableOf(in.TableName), nil, false})
}

// batch determines the faults of a batch: which items remain unprocessed and whether the response
// is lost, or the error of the whole batch.
func (db *DB) batch(accesses []Access) (left map[int]bool, lost bool, err error) {
	v := db.judge(accesses...)
	left = map[int]bool{}
	throttled := 0
	for i, effect := range v.items {
		switch effect {
		case Throttle:
			throttled++
			left[i] = true
		case Conflict, Unprocessed:
			left[i] = true
		default:
			v.whole = &effect
		}
	}
	switch {
	case v.whole != nil && *v.whole == LoseAnswer:
		return left, true, nil
	case v.whole != nil:
		return nil, false, v.whole.err(accesses[0])
	case len(accesses) > 0 && throttled == len(accesses):
		return nil, false, Throttle.err(accesses[0])
	}
	return left, false, nil
}

// BatchWriteItem calls the engine, except for items with a fault.
func (db *DB) BatchWriteItem(ctx context.Context, in *dynamodb.BatchWriteItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.BatchWriteItemOutput, error) {
	in = given(in)
	left, lost, err := db.batch(writesOf(in.RequestItems))
	if err != nil {
		return nil, err
	}
	if len(left) == 0 {
		out, err := db.DB.BatchWriteItem(ctx, in)
		return unless(lost, out, err)
	}
	doing, unprocessed, i := *in, map[string][]types.WriteRequest{}, 0
	doing.RequestItems = map[string][]types.WriteRequest{}
	for _, table := range slices.Sorted(maps.Keys(in.RequestItems)) {
		for _, w := range in.RequestItems[table] {
			to := doing.RequestItems
			if left[i] {
				to = unprocessed
			}
			to[table] = append(to[table], w)
			i++
		}
	}
	out := new(dynamodb.BatchWriteItemOutput)
	if len(doing.RequestItems) > 0 {
		if out, err = db.DB.BatchWriteItem(ctx, &doing); err != nil {
			return nil, err
		}
	}
	out.UnprocessedItems = unprocessed
	return unless(lost, out, nil)
}

func writesOf(requests map[string][]types.WriteRequest) (accesses []Access) {
	for _, table := range slices.Sorted(maps.Keys(requests)) {
		for _, w := range requests[table] {
			a := Access{Op: "BatchWriteItem", Table: tableOf(&table), Write: true}
			if w.PutRequest != nil {
				a.Item = w.PutRequest.Item
			} else if w.DeleteRequest != nil {
				a.Item = w.DeleteRequest.Key
			}
			accesses = append(accesses, a)
		}
	}
	return accesses
}

// unless returns the response, or an error if it is lost.
func unless[Out any](lost bool, out *Out, err error) (*Out, error) {
	if err == nil && lost {
		return nil, LoseAnswer.err(Access{})
	}
	return out, err
}

// BatchGetItem calls the engine, except for keys with a fault.
func (db *DB) BatchGetItem(ctx context.Context, in *dynamodb.BatchGetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	in = given(in)
	left, lost, err := db.batch(readsOf(in.RequestItems))
	if err != nil {
		return nil, err
	}
	if len(left) == 0 {
		out, err := db.DB.BatchGetItem(ctx, in)
		return unless(lost, out, err)
	}
	doing, unprocessed, i := *in, map[string]types.KeysAndAttributes{}, 0
	doing.RequestItems = map[string]types.KeysAndAttributes{}
	for _, table := range slices.Sorted(maps.Keys(in.RequestItems)) {
		for _, key := range in.RequestItems[table].Keys {
			to := doing.RequestItems
			if left[i] {
				to = unprocessed
			}
			part, begun := to[table]
			if !begun {
				part = in.RequestItems[table]
				part.Keys = nil
			}
			part.Keys = append(part.Keys, key)
			to[table] = part
			i++
		}
	}
	out := &dynamodb.BatchGetItemOutput{Responses: map[string][]map[string]types.AttributeValue{}}
	if len(doing.RequestItems) > 0 {
		if out, err = db.DB.BatchGetItem(ctx, &doing); err != nil {
			return nil, err
		}
	}
	maps.Copy(unprocessed, out.UnprocessedKeys)
	out.UnprocessedKeys = unprocessed
	return unless(lost, out, nil)
}

func readsOf(requests map[string]types.KeysAndAttributes) (accesses []Access) {
	for _, table := range slices.Sorted(maps.Keys(requests)) {
		for _, key := range requests[table].Keys {
			accesses = append(accesses, Access{"BatchGetItem", tableOf(&table), key, false})
		}
	}
	return accesses
}

// TransactWriteItems calls the engine unless a fault occurs for one of its actions.
func (db *DB) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, _ ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	in = given(in)
	accesses := make([]Access, len(in.TransactItems))
	for i, t := range in.TransactItems {
		a := Access{Op: "TransactWriteItems", Write: true}
		switch {
		case t.Put != nil:
			a.Table, a.Item = tableOf(t.Put.TableName), t.Put.Item
		case t.Update != nil:
			a.Table, a.Item = tableOf(t.Update.TableName), t.Update.Key
		case t.Delete != nil:
			a.Table, a.Item = tableOf(t.Delete.TableName), t.Delete.Key
		case t.ConditionCheck != nil:
			a.Table, a.Item = tableOf(t.ConditionCheck.TableName), t.ConditionCheck.Key
		}
		accesses[i] = a
	}
	return transact(db, func() (*dynamodb.TransactWriteItemsOutput, error) { return db.DB.TransactWriteItems(ctx, in) }, accesses)
}

// TransactGetItems calls the engine unless a fault occurs for one of its reads.
func (db *DB) TransactGetItems(ctx context.Context, in *dynamodb.TransactGetItemsInput, _ ...func(*dynamodb.Options)) (*dynamodb.TransactGetItemsOutput, error) {
	in = given(in)
	accesses := make([]Access, len(in.TransactItems))
	for i, t := range in.TransactItems {
		accesses[i] = Access{Op: "TransactGetItems"}
		if t.Get != nil {
			accesses[i].Table, accesses[i].Item = tableOf(t.Get.TableName), t.Get.Key
		}
	}
	return transact(db, func() (*dynamodb.TransactGetItemsOutput, error) { return db.DB.TransactGetItems(ctx, in) }, accesses)
}

// transact runs a transaction unless a fault occurs.
func transact[Out any](db *DB, run func() (*Out, error), accesses []Access) (*Out, error) {
	v := db.judge(accesses...)
	effect, struck := v.one()
	switch {
	case struck && (effect == Throttle || effect == Conflict):
		return nil, v.cancelled(len(accesses))
	case struck && effect == Fail:
		return nil, effect.err(accesses[0])
	}
	out, err := run()
	return unless(struck, out, err)
}
