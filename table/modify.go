package table

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"slices"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/dynamo"
)

// maxModifyAttempts limits how often Modify starts over after a conflict with another writer.
const maxModifyAttempts = 16

// Modify reads an item, applies change, and writes the modified attributes if the item is unchanged
// since it was read. Otherwise it starts over. It returns the item as written.
//
// change may run several times and must not modify the key. Attributes unknown to the entity are
// preserved. Errors: ErrNotFound, ErrImmutable, ErrConflict after 16 attempts, and those returned
// by change, after which nothing is written.
func (e *Entity[T, K]) Modify(ctx context.Context, t *Table, k K, change func(*T) error) (T, error) {
	var v T
	err := e.core.modify(ctx, t, &k, &v, func() error { return change(&v) })
	return v, err
}

// modify is Modify of the item that it reads into v.
func (e *entity) modify(ctx context.Context, t *Table, k, v any, change func() error) error {
	err := e.refuseMutation("modify")
	if err != nil {
		return err
	}
	for attempt := range maxModifyAttempts {
		if err = e.modifyOnce(ctx, t, k, v, change); !errors.Is(err, ErrConflict) {
			break
		}
		if wait := t.sleep(ctx, retryDelay(attempt)); wait != nil {
			err = wait
			break
		}
	}
	if err != nil {
		return e.failed("modify", err)
	}
	return nil
}

func (e *entity) modifyOnce(ctx context.Context, t *Table, k, v any, change func() error) error {
	stored, err := e.get(ctx, t, k, v)
	if err != nil {
		return err
	}
	before, err := e.encode(v, nil) // not the stored item: an expiry that is not read back must not count as a change
	if err != nil {
		return err
	}
	if err := change(); err != nil {
		return err
	}
	after, err := e.encode(v, nil)
	if err != nil {
		return err
	}
	if keyOf(before) != keyOf(after) {
		return errors.New("the change must not change the key")
	}
	update, changed := difference(before, after)
	if !changed {
		return nil
	}
	x, err := expression.NewBuilder().WithUpdate(update).WithCondition(e.unchanged(stored)).Build()
	if err != nil {
		return err
	}
	_, err = t.api.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &t.name, Key: Item{AttrPK: stored[AttrPK], AttrSK: stored[AttrSK]},
		UpdateExpression: x.Update(), ConditionExpression: x.Condition(),
		ExpressionAttributeNames: x.Names(), ExpressionAttributeValues: x.Values(),
	})
	if dynamo.IsConditionFailed(err) {
		err = ErrConflict
	}
	return err
}

// difference returns the update from one encoding of an item to another.
func difference(before, after Item) (u expression.UpdateBuilder, changed bool) {
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if !equalValues(before[name], after[name]) {
			u, changed = u.Set(expression.NameNoDotSplit(name), expression.Value(after[name])), true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if after[name] == nil {
			u, changed = u.Remove(expression.NameNoDotSplit(name)), true
		}
	}
	return u, changed
}

func equalValues(a, b types.AttributeValue) bool { return reflect.DeepEqual(a, b) }

// unchanged returns a condition that holds while an item is as it was read: all attributes have the
// same values, and no other attribute known to the entity has been added. Because it needs no
// version attribute, it detects every writer.
func (e *entity) unchanged(it Item) expression.ConditionBuilder {
	cond := expression.Name(AttrPK).AttributeExists()
	for _, name := range slices.Sorted(maps.Keys(it)) {
		if name != AttrPK && name != AttrSK {
			cond = cond.And(expression.NameNoDotSplit(name).Equal(expression.Value(it[name])))
		}
	}
	may := []string{AttrTTL}
	for _, f := range e.stored {
		may = append(may, f.Name)
	}
	for _, x := range e.indexes {
		may = append(may, x.pkAttr, x.skAttr)
	}
	slices.Sort(may)
	for _, name := range slices.Compact(may) {
		if it[name] == nil {
			cond = cond.And(expression.NameNoDotSplit(name).AttributeNotExists())
		}
	}
	return cond
}
