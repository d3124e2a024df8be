package table

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/dynamo"
)

// Limits of a transaction.
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/transaction-apis.html
const (
	maxTxOps      = 100
	maxTxToken    = 36
	maxTxAttempts = 6
)

// A Tx is a transaction under construction: either all of its operations take effect, or none.
// Entities add operations with TxPut, TxCreate, TxPatch, TxDelete and TxCheck. Commit reports their
// errors.
type Tx struct {
	t     *Table
	token string
	ops   []txOp
	err   error
}

type txOp struct {
	name    string // such as "create ledger.transfer"
	key     Item
	item    types.TransactWriteItem
	refused error // the error if the operation's condition does not hold
}

// NewTx starts a transaction. A token of 1 to 36 characters makes it idempotent for ten minutes:
// the same operations with the same token take effect once; "" means no token. The store compares
// requests literally, so with a token no condition contains the time: an expired item that is not
// deleted yet can then be patched and prevents a TxCreate.
func NewTx(t *Table, token string) *Tx {
	tx := &Tx{t: t, token: token}
	if len(token) > maxTxToken {
		tx.err = fmt.Errorf("table: the token has %d characters; use at most %d", len(token), maxTxToken)
	}
	return tx
}

// Len returns the number of operations so far. A transaction may have at most 100.
func (tx *Tx) Len() int { return len(tx.ops) }

// now returns the time for conditions; it is nil if there is a token.
func (tx *Tx) now() func() types.AttributeValue {
	if tx.token != "" {
		return nil
	}
	return tx.t.nowValue
}

// add appends an operation, or records its error.
func (tx *Tx) add(op txOp, err error) {
	if err != nil {
		tx.err = errors.Join(tx.err, fmt.Errorf("table: transaction, operation %d (%s): %w", len(tx.ops), op.name, err))
	}
	for i, other := range tx.ops {
		if err == nil && other.key != nil && keyOf(other.key) == keyOf(op.key) {
			tx.err = errors.Join(tx.err, fmt.Errorf("table: transaction: operations %d (%s) and %d (%s) are on the same item: combine them",
				i, other.name, len(tx.ops), op.name))
		}
	}
	tx.ops = append(tx.ops, op)
}

// TxPut adds a Put.
func (e *Entity[T, K]) TxPut(tx *Tx, v *T, conds ...Cond) { e.core.txPut(tx, v, conds) }

func (e *entity) txPut(tx *Tx, v any, conds []Cond) {
	op := txOp{name: "put " + e.name, refused: ErrCondition}
	err := e.refuseMutation("put")
	if err == nil {
		op.key, err = e.encode(v, nil)
	}
	x, condErr := e.condition(conds)
	op.item.Put = &types.Put{
		TableName: &tx.t.name, Item: op.key,
		ConditionExpression: x.text, ExpressionAttributeNames: x.names, ExpressionAttributeValues: x.values,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
	tx.add(op, errors.Join(err, condErr))
}

// TxCreate adds a Create. Commit returns ErrExists if the key exists.
func (e *Entity[T, K]) TxCreate(tx *Tx, v *T) { e.core.txCreate(tx, v) }

func (e *entity) txCreate(tx *Tx, v any) {
	op := txOp{name: "create " + e.name, refused: ErrExists}
	it, err := e.encode(v, nil)
	op.key = it
	in := e.createInput(tx.t, it, tx.now())
	op.item.Put = &types.Put{
		TableName: &tx.t.name, Item: it, ConditionExpression: in.ConditionExpression,
		ExpressionAttributeNames: in.ExpressionAttributeNames, ExpressionAttributeValues: in.ExpressionAttributeValues,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
	tx.add(op, err)
}

// TxPatch adds a Patch. Commit returns ErrNotFound if the item does not exist, ErrCondition if an
// If does not hold.
func (e *Entity[T, K]) TxPatch(tx *Tx, k K, changes ...Change[T]) {
	e.core.txPatch(tx, &k, new(T), untyped(changes))
}

func (e *entity) txPatch(tx *Tx, k, item any, changes []change) {
	op := txOp{name: "patch " + e.name, refused: ErrCondition}
	var x expression.Expression
	var err error
	op.key, x, err = e.patchExpression(k, item, changes, tx.now())
	op.item.Update = &types.Update{
		TableName: &tx.t.name, Key: op.key, UpdateExpression: x.Update(), ConditionExpression: x.Condition(),
		ExpressionAttributeNames: x.Names(), ExpressionAttributeValues: x.Values(),
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
	tx.add(op, err)
}

// TxDelete adds a Delete.
func (e *Entity[T, K]) TxDelete(tx *Tx, k K, conds ...Cond) { e.core.txDelete(tx, &k, conds) }

func (e *entity) txDelete(tx *Tx, k any, conds []Cond) {
	op := txOp{name: "delete " + e.name, refused: ErrCondition}
	var err error
	op.key, err = e.key(k)
	x, condErr := e.condition(conds)
	op.item.Delete = &types.Delete{
		TableName: &tx.t.name, Key: op.key,
		ConditionExpression: x.text, ExpressionAttributeNames: x.names, ExpressionAttributeValues: x.values,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
	tx.add(op, errors.Join(err, condErr))
}

// TxCheck adds a condition on an item that the transaction does not change.
func (e *Entity[T, K]) TxCheck(tx *Tx, k K, conds ...Cond) { e.core.txCheck(tx, &k, conds) }

func (e *entity) txCheck(tx *Tx, k any, conds []Cond) {
	op := txOp{name: "check " + e.name, refused: ErrCondition}
	var err error
	op.key, err = e.key(k)
	x, condErr := e.condition(conds)
	if condErr == nil && x.text == nil {
		condErr = errors.New("a check needs a condition")
	}
	op.item.ConditionCheck = &types.ConditionCheck{
		TableName: &tx.t.name, Key: op.key,
		ConditionExpression: x.text, ExpressionAttributeNames: x.names, ExpressionAttributeValues: x.values,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
	tx.add(op, errors.Join(err, condErr))
}

// A TxError names the operation that prevented a transaction, and the reason. With errors.Is it
// matches ErrExists, ErrNotFound or ErrCondition (a condition did not hold), ErrConflict (another
// transaction held the item in all attempts), or ErrThrottled.
type TxError struct {
	Index int    // index of the operation, from 0
	Op    string // such as "create ledger.transfer"
	Key   string // "pk sk" of the operation's item
	Code  string // the API's reason, such as ConditionalCheckFailed
	Item  Item   // the item for which a condition did not hold, if it exists
	cause error
}

func (e *TxError) Error() string {
	return fmt.Sprintf("table: transaction, operation %d (%s) on %s: %v", e.Index, e.Op, e.Key, e.cause)
}

func (e *TxError) Unwrap() error { return e.cause }

// Commit runs the transaction. After a conflict or throttling it retries, up to six attempts in
// all. An empty transaction does nothing. The error is a *TxError if a particular operation is the
// cause.
func (tx *Tx) Commit(ctx context.Context) error {
	switch {
	case tx.err != nil:
		return tx.err
	case len(tx.ops) == 0:
		return nil
	case len(tx.ops) > maxTxOps:
		return fmt.Errorf("table: transaction: %d operations; use at most %d", len(tx.ops), maxTxOps)
	}
	in := &dynamodb.TransactWriteItemsInput{}
	if tx.token != "" {
		in.ClientRequestToken = &tx.token
	}
	for _, op := range tx.ops {
		in.TransactItems = append(in.TransactItems, op.item)
	}
	for attempt := 0; ; attempt++ {
		_, err := tx.t.api.TransactWriteItems(ctx, in)
		if err == nil {
			return nil
		}
		_, gaveUp := dynamo.GaveUp(err)
		err = tx.explain(err)
		if gaveUp || attempt == maxTxAttempts-1 || !errors.Is(err, ErrConflict) && !errors.Is(err, ErrThrottled) {
			return err
		}
		if wait := tx.t.sleep(ctx, retryDelay(attempt)); wait != nil {
			return wait
		}
	}
}

// explain finds the operation that failed. A condition that does not hold is final and takes
// precedence over conflicts and throttling, which may pass.
func (tx *Tx) explain(err error) error {
	reasons, ok := dynamo.CancellationReasons(err)
	if !ok {
		switch {
		case dynamo.IsThrottle(err):
			err = fmt.Errorf("%w: %w", ErrThrottled, err)
		case dynamo.Code(err) == "TransactionInProgressException":
			err = fmt.Errorf("%w: %w", ErrConflict, err)
		}
		return fmt.Errorf("table: transaction: %w", err)
	}
	var found *TxError
	for i, r := range reasons {
		if i >= len(tx.ops) || r.Code == nil || *r.Code == "None" {
			continue
		}
		e := tx.blame(i, r)
		if found == nil || errors.Is(found, ErrConflict) || errors.Is(found, ErrThrottled) {
			found = e
		}
	}
	if found == nil {
		return fmt.Errorf("table: transaction: %w", err)
	}
	return found
}

func (tx *Tx) blame(i int, r types.CancellationReason) *TxError {
	op := tx.ops[i]
	key := keyOf(op.key)
	e := &TxError{Index: i, Op: op.name, Key: key.pk + " " + key.sk, Code: *r.Code, Item: r.Item}
	message := ""
	if r.Message != nil {
		message = *r.Message
	}
	switch e.Code {
	case "ConditionalCheckFailed":
		e.cause = op.refused
		if op.item.Update != nil {
			e.cause = tx.t.absentOr(r.Item, op.refused)
		}
	case "TransactionConflict":
		e.cause = ErrConflict
	case "ThrottlingError", "ProvisionedThroughputExceeded", "RequestLimitExceeded":
		e.cause = fmt.Errorf("%w: %s", ErrThrottled, message)
	default:
		e.cause = fmt.Errorf("%s: %s", e.Code, message)
	}
	return e
}
