package table

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Update is an update whose expressions are written by hand, for writes that are too frequent to
// build expressions each time. Unlike Patch, it recomputes neither index keys nor the expiry, and
// has no condition of its own.
type Update struct {
	Expression, Condition string
	Names                 map[string]string // not changed, so that it can be shared
	Values                Item
}

// Update makes an update. If its condition does not hold, it returns the existing item, nil if there
// is none, with ErrCondition or ErrNotFound. Errors: also ErrImmutable.
func (e *Entity[T, K]) Update(ctx context.Context, t *Table, k K, u Update) (refused Item, err error) {
	return e.core.update(ctx, t, &k, u)
}

func (e *entity) update(ctx context.Context, t *Table, k any, u Update) (refused Item, err error) {
	if err := e.refuseMutation("update"); err != nil {
		return nil, err
	}
	key, err := e.key(k)
	if err != nil {
		return nil, e.failed("update", err)
	}
	_, err = t.api.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &t.name, Key: key, UpdateExpression: &u.Expression, ConditionExpression: &u.Condition,
		ExpressionAttributeNames: u.Names, ExpressionAttributeValues: u.Values,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	var failed *types.ConditionalCheckFailedException
	if errors.As(err, &failed) {
		refused, err = failed.Item, t.absentOr(failed.Item, ErrCondition)
	}
	if err != nil {
		err = e.failed("update", err)
	}
	return refused, err
}

// TxUpdate adds an Update to a transaction. Commit returns ErrNotFound if the item does not exist,
// ErrCondition if the condition does not hold.
func (e *Entity[T, K]) TxUpdate(tx *Tx, k K, u Update) { e.core.txUpdate(tx, &k, u) }

func (e *entity) txUpdate(tx *Tx, k any, u Update) {
	op := txOp{name: "update " + e.name, refused: ErrCondition}
	err := e.refuseMutation("update")
	if err == nil {
		op.key, err = e.key(k)
	}
	op.item.Update = &types.Update{
		TableName: &tx.t.name, Key: op.key, UpdateExpression: &u.Expression, ConditionExpression: &u.Condition,
		ExpressionAttributeNames: u.Names, ExpressionAttributeValues: u.Values,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
	tx.add(op, err)
}
