package engine

import (
	"context"
	"errors"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/engine/internal/expr"
	"github.com/onefold/onefold/engine/internal/item"
)

// DynamoDB's bounds of transactions.
const (
	maxTransaction      = 100
	maxTransactionBytes = 4 << 20
)

// TransactWriteItems carries out up to 100 actions on different items, all of them or none.
func (db *DB) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, _ ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	if err := db.begin(ctx); err != nil {
		return nil, err
	}
	actions, err := db.checkTransaction(in)
	if err != nil {
		return nil, err
	}
	c := db.newCommit(len(actions))
	reasons := make([]error, len(actions))
	if err := c.resolveAll(actions, "Transaction request cannot include multiple operations on one item", reasons); err != nil {
		return nil, c.abandon(err)
	}
	if in.ClientRequestToken != nil && errors.Join(reasons...) == nil {
		done, err := c.claim(*in.ClientRequestToken, digest(actions))
		if err != nil {
			return nil, c.abandon(err)
		}
		if done {
			return c.repeated(in, actions)
		}
	}
	if err := c.transact(actions, reasons); err != nil {
		return nil, c.abandon(err)
	}
	c.publish()
	c.count()
	out := &dynamodb.TransactWriteItemsOutput{
		ConsumedCapacity:      c.consumedByTransaction(in.ReturnConsumedCapacity, writing),
		ItemCollectionMetrics: c.collections(in.ReturnItemCollectionMetrics),
	}
	if err := c.await(); err != nil {
		return nil, err
	}
	return out, nil
}

// transact performs every action, so that each failure is told, and stops if there was one.
func (c *commit) transact(actions []action, reasons []error) error {
	failed := false
	for i := range actions {
		if reasons[i] == nil {
			var ch *change
			if ch, reasons[i] = c.perform(&actions[i]); reasons[i] == nil {
				ch.use.table *= 2
			}
		}
		failed = failed || reasons[i] != nil
	}
	if !failed {
		return nil
	}
	return cancelled(reasons)
}

// cancelled turns the failures of single actions into the transaction's answer. A failure of the store is none.
func cancelled(reasons []error) error {
	out := make([]types.CancellationReason, len(reasons))
	codes := make([]string, len(reasons))
	for i, err := range reasons {
		var api smithy.APIError
		var failed *types.ConditionalCheckFailedException
		code, msg := "None", ""
		switch {
		case err == nil:
		case errors.As(err, &failed):
			code, msg = "ConditionalCheckFailed", conditionFailed
			out[i].Item = failed.Item
		case errors.As(err, &api):
			code, msg = "ValidationError", api.ErrorMessage()
		default:
			return err
		}
		codes[i], out[i].Code = code, &code
		if msg != "" {
			out[i].Message = &msg
		}
	}
	msg := "Transaction cancelled, please refer cancellation reasons for specific reasons [" + strings.Join(codes, ", ") + "]"
	return &types.TransactionCanceledException{Message: &msg, CancellationReasons: out}
}

// checkTransaction checks a transaction as far as that goes without the tables.
func (db *DB) checkTransaction(in *dynamodb.TransactWriteItemsInput) ([]action, error) {
	var cs constraints
	cs.checkReturns(in.ReturnConsumedCapacity, in.ReturnItemCollectionMetrics, "")
	cs.checkActions(len(in.TransactItems))
	if t := in.ClientRequestToken; t != nil && (len(*t) < 1 || len(*t) > 36) {
		cs.add(*t, "clientRequestToken", "Member must have length less than or equal to 36")
	}
	if err := cs.err(); err != nil {
		return nil, err
	}
	actions := make([]action, len(in.TransactItems))
	bytes := 0
	for i, it := range in.TransactItems {
		if err := db.transactAction(it, &actions[i]); err != nil {
			return nil, err
		}
		n := item.Size(actions[i].keyed)
		if actions[i].verb == verbPut && n > maxItemBytes {
			return nil, dynamo.Validation("Item size has exceeded the maximum allowed size")
		}
		bytes += n
	}
	if bytes > maxTransactionBytes {
		return nil, dynamo.Validation("The total size of the items in the transaction exceeds the limit of 4 MB")
	}
	return actions, nil
}

func (c *constraints) checkActions(n int) {
	switch {
	case n == 0:
		c.add("[]", "transactItems", "Member must have length greater than or equal to 1")
	case n > maxTransaction:
		c.add("[...]", "transactItems", "Member must have length less than or equal to 100")
	}
}

func (db *DB) transactAction(it types.TransactWriteItem, a *action) error {
	kinds := 0
	var key item.Item
	var e expressions
	var onFailure types.ReturnValuesOnConditionCheckFailure
	if p := it.Put; p != nil {
		kinds, a.verb, a.table, key, onFailure = kinds+1, verbPut, p.TableName, p.Item, p.ReturnValuesOnConditionCheckFailure
		e = expressions{condition: p.ConditionExpression, names: p.ExpressionAttributeNames, values: p.ExpressionAttributeValues}
	}
	if u := it.Update; u != nil {
		kinds, a.verb, a.table, key, onFailure = kinds+1, verbUpdate, u.TableName, u.Key, u.ReturnValuesOnConditionCheckFailure
		e = expressions{update: u.UpdateExpression, condition: u.ConditionExpression, names: u.ExpressionAttributeNames, values: u.ExpressionAttributeValues}
	}
	if d := it.Delete; d != nil {
		kinds, a.verb, a.table, key, onFailure = kinds+1, verbDelete, d.TableName, d.Key, d.ReturnValuesOnConditionCheckFailure
		e = expressions{condition: d.ConditionExpression, names: d.ExpressionAttributeNames, values: d.ExpressionAttributeValues}
	}
	if k := it.ConditionCheck; k != nil {
		kinds, a.verb, a.table, key, onFailure = kinds+1, verbCheck, k.TableName, k.Key, k.ReturnValuesOnConditionCheckFailure
		e = expressions{condition: k.ConditionExpression, names: k.ExpressionAttributeNames, values: k.ExpressionAttributeValues}
	}
	if kinds != 1 {
		return dynamo.Validation("TransactItems can only contain one of Check, Put, Update or Delete")
	}
	return db.finishAction(a, key, e, onFailure)
}

func (db *DB) finishAction(a *action, key item.Item, e expressions, onFailure types.ReturnValuesOnConditionCheckFailure) (err error) {
	var cs constraints
	if key == nil {
		cs.addNull("transactItems.1.member.key")
	}
	if a.verb == verbCheck && e.condition == nil {
		cs.addNull("transactItems.1.member.conditionCheck.conditionExpression")
	}
	if a.verb == verbUpdate && e.update == nil {
		cs.addNull("transactItems.1.member.update.updateExpression")
	}
	if err := checkTableName(a.table, &cs); err != nil {
		return err
	}
	exprs := []exprParam{{"ConditionExpression", e.condition}}
	if a.verb == verbUpdate {
		exprs = []exprParam{{"UpdateExpression", e.update}, {"ConditionExpression", e.condition}}
	}
	if err := checkMix(exprs, nil, e.names, e.values); err != nil {
		return err
	}
	a.all = onFailure == allOldOnFailure
	if a.keyed, err = normalize(key); err != nil {
		return err
	}
	return db.bind(a, e)
}

// consumedByTransaction reports the capacity of a transaction by table.
func (c *commit) consumedByTransaction(how types.ReturnConsumedCapacity, d direction) []types.ConsumedCapacity {
	schemas, uses := c.byTable()
	var out []types.ConsumedCapacity
	for _, s := range schemas {
		if cc := s.consumedTransaction(how, d, *uses[s]); cc != nil {
			out = append(out, *cc)
		}
	}
	return out
}

// transactGet is one read of a transaction.
type transactGet struct {
	s          *schema
	table      *string
	key        item.Item
	projection *expr.Projection
}

// TransactGetItems reads up to 100 items as they were at one moment.
func (db *DB) TransactGetItems(ctx context.Context, in *dynamodb.TransactGetItemsInput, _ ...func(*dynamodb.Options)) (_ *dynamodb.TransactGetItemsOutput, err error) {
	if err := db.begin(ctx); err != nil {
		return nil, err
	}
	gets, err := db.checkTransactGet(in)
	if err != nil {
		return nil, err
	}
	if err := db.resolveGets(gets); err != nil {
		return nil, err
	}
	snap := db.store.NewSnapshot()
	defer func() { err = joinClose(err, snap) }()
	out := &dynamodb.TransactGetItemsOutput{Responses: make([]types.ItemResponse, len(gets))}
	uses := map[*schema]*usage{}
	var order []*schema
	for i, g := range gets {
		it, size, err := db.fetch(snap, g.s, g.key, g.projection)
		if err != nil {
			return nil, err
		}
		out.Responses[i].Item = it
		if uses[g.s] == nil {
			uses[g.s] = new(usage)
			order = append(order, g.s)
		}
		uses[g.s].table += 2 * readUnits(size, true)
	}
	for _, s := range order {
		s.meterUse(reading, *uses[s])
		if cc := s.consumedTransaction(in.ReturnConsumedCapacity, reading, *uses[s]); cc != nil {
			out.ConsumedCapacity = append(out.ConsumedCapacity, *cc)
		}
	}
	return out, nil
}

func (db *DB) checkTransactGet(in *dynamodb.TransactGetItemsInput) ([]transactGet, error) {
	var cs constraints
	cs.checkReturns(in.ReturnConsumedCapacity, "", "")
	cs.checkActions(len(in.TransactItems))
	if err := cs.err(); err != nil {
		return nil, err
	}
	gets := make([]transactGet, len(in.TransactItems))
	for i, it := range in.TransactItems {
		if it.Get == nil || it.Get.Key == nil {
			cs.addNull("transactItems.1.member.get")
			return nil, cs.err()
		}
		if err := checkTableName(it.Get.TableName, &cs); err != nil {
			return nil, err
		}
		sel := selection{projection: it.Get.ProjectionExpression, names: it.Get.ExpressionAttributeNames}
		if err := sel.check(); err != nil {
			return nil, err
		}
		key, err := normalize(it.Get.Key)
		if err != nil {
			return nil, err
		}
		proj, err := db.bindProjection(sel)
		if err != nil {
			return nil, err
		}
		gets[i] = transactGet{table: it.Get.TableName, key: key, projection: proj}
	}
	return gets, nil
}

// resolveGets checks the keys; a wrong one is the reason why the transaction is cancelled.
func (db *DB) resolveGets(gets []transactGet) (err error) {
	for i := range gets {
		if gets[i].s, err = db.schemaOf(gets[i].table); err != nil {
			return err
		}
	}
	reasons, failed := make([]error, len(gets)), false
	seen := make(map[string]bool, len(gets))
	for i := range gets {
		g := &gets[i]
		if reasons[i] = g.s.checkKey(g.key); reasons[i] != nil {
			failed = true
			continue
		}
		row, err := g.s.appendItemKey(nil, g.key)
		if err != nil {
			return err
		}
		if seen[string(row)] {
			return dynamo.Validation("Transaction request cannot include multiple operations on one item")
		}
		seen[string(row)] = true
	}
	if failed {
		return cancelled(reasons)
	}
	return nil
}
