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

// maxModifyAttempts bounds how often Modify begins again because another writer was faster.
const maxModifyAttempts = 16

// Modify reads an item, lets change change it, and writes what changed if the item is still what was read; otherwise it
// begins again. It returns the item as written. change may run several times, and must not change the key. Attributes
// that the entity does not know stay as they are. Errors: ErrNotFound, ErrImmutable, ErrConflict after 16 attempts, and
// whatever change returns, with nothing written.
func (e *Entity[T, K]) Modify(ctx context.Context, t *Table, k K, change func(*T) error) (T, error) {
	var v T
	err := e.core.refuseMutation("modify")
	if err != nil {
		return v, err
	}
	for attempt := range maxModifyAttempts {
		if v, err = e.modifyOnce(ctx, t, k, change); !errors.Is(err, ErrConflict) {
			break
		}
		if wait := t.sleep(ctx, retryDelay(attempt)); wait != nil {
			err = wait
			break
		}
	}
	if err != nil {
		return v, e.core.failed("modify", err)
	}
	return v, nil
}

func (e *Entity[T, K]) modifyOnce(ctx context.Context, t *Table, k K, change func(*T) error) (T, error) {
	v, stored, err := e.get(ctx, t, k)
	if err != nil {
		return v, err
	}
	before, err := e.Encode(&v) // not what is stored: an expiry that is not read back must not count as a change
	if err != nil {
		return v, err
	}
	if err := change(&v); err != nil {
		return v, err
	}
	after, err := e.Encode(&v)
	if err != nil {
		return v, err
	}
	if keyOf(before) != keyOf(after) {
		return v, errors.New("the change must not change the key")
	}
	update, changed := difference(before, after)
	if !changed {
		return v, nil
	}
	x, err := expression.NewBuilder().WithUpdate(update).WithCondition(e.core.unchanged(stored)).Build()
	if err != nil {
		return v, err
	}
	_, err = t.api.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &t.name, Key: Item{AttrPK: stored[AttrPK], AttrSK: stored[AttrSK]},
		UpdateExpression: x.Update(), ConditionExpression: x.Condition(),
		ExpressionAttributeNames: x.Names(), ExpressionAttributeValues: x.Values(),
	})
	if dynamo.IsConditionFailed(err) {
		err = ErrConflict
	}
	return v, err
}

// difference is the update from one encoding of an item to another.
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

// unchanged holds while an item is as it was read: all its attributes are the same, and none that the entity knows has
// come. It needs no version attribute, so that it sees every writer.
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
