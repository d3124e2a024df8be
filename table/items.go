package table

import (
	"context"
	"fmt"
	"reflect"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/dynamo"
)

// failed adds the operation and the entity to an error.
func (e *entity) failed(op string, err error) error {
	return fmt.Errorf("table: %s %s: %w", op, e.name, err)
}

// refuseMutation returns an error if the entity is immutable. Only Create and Delete are allowed
// then.
func (e *entity) refuseMutation(op string) error {
	if e.immutable {
		return e.failed(op, ErrImmutable)
	}
	return nil
}

// Put writes an item and replaces an existing one, provided that all conditions hold for the
// existing item. Errors: ErrCondition, ErrImmutable, and those of Encode.
func (e *Entity[T, K]) Put(ctx context.Context, t *Table, v *T, conds ...Cond) error {
	return e.core.put(ctx, t, v, conds)
}

func (e *entity) put(ctx context.Context, t *Table, v any, conds []Cond) error {
	if err := e.refuseMutation("put"); err != nil {
		return err
	}
	it, err := e.encode(v, nil)
	if err != nil {
		return e.failed("put", err)
	}
	in := &dynamodb.PutItemInput{TableName: &t.name, Item: it}
	x, err := e.condition(conds)
	if err != nil {
		return e.failed("put", err)
	}
	in.ConditionExpression, in.ExpressionAttributeNames, in.ExpressionAttributeValues = x.text, x.names, x.values
	if _, err := t.api.PutItem(ctx, in); err != nil {
		return e.failed("put", conditionError(err))
	}
	return nil
}

// conditionError returns ErrCondition if a condition did not hold, otherwise err.
func conditionError(err error) error {
	if dynamo.IsConditionFailed(err) {
		return ErrCondition
	}
	return err
}

var (
	absent        = "attribute_not_exists(pk)"
	absentExpired = "attribute_not_exists(pk) OR #ttl <= :now"
)

// Create writes an item unless its key exists, in which case it returns ErrExists.
//
// An expired item that is not deleted yet does not count, except for immutable entities: there, the
// same key means the same fact as long as it is stored, so that a late retry does not create it
// again.
func (e *Entity[T, K]) Create(ctx context.Context, t *Table, v *T) error {
	return e.core.create(ctx, t, v)
}

func (e *entity) create(ctx context.Context, t *Table, v any) error {
	it, err := e.encode(v, nil)
	if err != nil {
		return e.failed("create", err)
	}
	_, err = t.api.PutItem(ctx, e.createInput(t, it, t.nowValue))
	return e.created(err)
}

// created converts the result of Create's request.
func (e *entity) created(err error) error {
	if dynamo.IsConditionFailed(err) {
		err = ErrExists
	}
	if err != nil {
		return e.failed("create", err)
	}
	return nil
}

// CreateMany is Create for each item, with at most atOnce concurrent requests. Errors are those of
// Create, in the order of the items.
func (e *Entity[T, K]) CreateMany(ctx context.Context, t *Table, vs []T, atOnce int) []error {
	return e.core.createMany(ctx, t, len(vs), func(i int) any { return &vs[i] }, atOnce)
}

func (e *entity) createMany(ctx context.Context, t *Table, n int, item func(i int) any, atOnce int) []error {
	errs := make([]error, n)
	ins, at := make([]*dynamodb.PutItemInput, 0, n), make([]int, 0, n)
	for i := range n {
		spare, _ := e.spare.Get().(Item)
		it, err := e.encode(item(i), spare)
		if err != nil {
			errs[i] = e.failed("create", err)
			continue
		}
		ins, at = append(ins, e.createInput(t, it, t.nowValue)), append(at, i)
	}
	for i, err := range dynamo.PutAll(ctx, t.api, ins, atOnce) {
		errs[at[i]] = e.created(err)
		clear(ins[i].Item)
		e.spare.Put(ins[i].Item)
	}
	return errs
}

// CreateItems is CreateMany for items made by Encode, possibly long ago in another process. Errors:
// those of CreateMany, and ErrWrongEntity.
func (e *Entity[T, K]) CreateItems(ctx context.Context, t *Table, items []Item, atOnce int) []error {
	return e.core.createItems(ctx, t, items, atOnce)
}

func (e *entity) createItems(ctx context.Context, t *Table, items []Item, atOnce int) []error {
	errs := make([]error, len(items))
	ins, at := make([]*dynamodb.PutItemInput, 0, len(items)), make([]int, 0, len(items))
	for i, it := range items {
		if text(it, AttrEntity) != e.name {
			errs[i] = e.failed("create", ErrWrongEntity)
			continue
		}
		ins, at = append(ins, e.createInput(t, it, t.nowValue)), append(at, i)
	}
	for i, err := range dynamo.PutAll(ctx, t.api, ins, atOnce) {
		errs[at[i]] = e.created(err)
	}
	return errs
}

// absence returns the condition used by Create.
func (e *entity) absence() *string {
	if e.expires && !e.immutable {
		return &absentExpired
	}
	return &absent
}

// createInput returns the request of Create. If now is nil, an expired item counts as existing.
func (e *entity) createInput(t *Table, it Item, now func() types.AttributeValue) *dynamodb.PutItemInput {
	in := &dynamodb.PutItemInput{TableName: &t.name, Item: it, ConditionExpression: &absent}
	if now != nil && e.absence() == &absentExpired {
		in.ConditionExpression = &absentExpired
		in.ExpressionAttributeNames = map[string]string{"#ttl": AttrTTL}
		in.ExpressionAttributeValues = Item{":now": now()}
	}
	return in
}

func (t *Table) nowValue() types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(t.Now().Unix(), 10)}
}

var consistent = true

// Get reads one item, consistently. Errors: ErrNotFound if the item does not exist, was removed, or
// has expired.
func (e *Entity[T, K]) Get(ctx context.Context, t *Table, k K) (T, error) {
	var v T
	_, err := e.core.get(ctx, t, &k, &v)
	if err != nil {
		err = e.core.failed("get", err)
	}
	return v, err
}

// get reads an item into v, and returns it as stored. v is zero after an error of the read.
func (e *entity) get(ctx context.Context, t *Table, k, v any) (Item, error) {
	reflect.ValueOf(v).Elem().SetZero()
	key, err := e.key(k)
	if err != nil {
		return nil, err
	}
	it, err := t.getLive(ctx, key)
	if err != nil {
		return nil, err
	}
	return it, e.decode(it, v)
}

// getLive reads an item consistently. Errors: ErrNotFound, as Get.
func (t *Table) getLive(ctx context.Context, key Item) (Item, error) {
	out, err := t.api.GetItem(ctx, &dynamodb.GetItemInput{TableName: &t.name, Key: key, ConsistentRead: &consistent})
	if err != nil {
		return nil, err
	}
	if len(out.Item) == 0 || !t.live(out.Item) {
		return nil, ErrNotFound
	}
	return out.Item, nil
}

// Delete deletes an item, provided that all conditions hold for it. Without conditions, deleting a
// missing item is not an error. Errors: ErrCondition.
func (e *Entity[T, K]) Delete(ctx context.Context, t *Table, k K, conds ...Cond) error {
	return e.core.delete(ctx, t, &k, conds)
}

func (e *entity) delete(ctx context.Context, t *Table, k any, conds []Cond) error {
	key, err := e.key(k)
	if err != nil {
		return e.failed("delete", err)
	}
	in := &dynamodb.DeleteItemInput{TableName: &t.name, Key: key}
	x, err := e.condition(conds)
	if err != nil {
		return e.failed("delete", err)
	}
	in.ConditionExpression, in.ExpressionAttributeNames, in.ExpressionAttributeValues = x.text, x.names, x.values
	if _, err := t.api.DeleteItem(ctx, in); err != nil {
		return e.failed("delete", conditionError(err))
	}
	return nil
}
