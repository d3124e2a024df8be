package engine

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/engine/internal/capacity"
	"github.com/onefold/onefold/engine/internal/catalog"
	"github.com/onefold/onefold/engine/internal/expr"
	"github.com/onefold/onefold/engine/internal/item"
	"github.com/onefold/onefold/engine/internal/request"
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
		ConsumedCapacity:      c.consumedByTransaction(in.ReturnConsumedCapacity, capacity.Writing),
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
				ch.use.Table *= 2
			}
		}
		failed = failed || reasons[i] != nil
	}
	if !failed {
		return nil
	}
	return request.Cancelled(reasons)
}

// checkTransaction checks a transaction as far as that goes without the tables.
func (db *DB) checkTransaction(in *dynamodb.TransactWriteItemsInput) ([]action, error) {
	var cs request.Members
	cs.CheckReturns(in.ReturnConsumedCapacity, in.ReturnItemCollectionMetrics, "")
	checkActions(&cs, len(in.TransactItems))
	if t := in.ClientRequestToken; t != nil && (len(*t) < 1 || len(*t) > 36) {
		cs.Add(*t, "clientRequestToken", "Member must have length less than or equal to 36")
	}
	if err := cs.Err(); err != nil {
		return nil, err
	}
	actions := make([]action, len(in.TransactItems))
	bytes := 0
	for i, it := range in.TransactItems {
		if err := db.transactAction(it, &actions[i]); err != nil {
			return nil, err
		}
		n := item.Size(actions[i].keyed)
		if actions[i].verb == verbPut && n > catalog.MaxItemBytes {
			return nil, dynamo.Validation("Item size has exceeded the maximum allowed size")
		}
		bytes += n
	}
	if bytes > maxTransactionBytes {
		return nil, dynamo.Validation("The total size of the items in the transaction exceeds the limit of 4 MB")
	}
	return actions, nil
}

func checkActions(c *request.Members, n int) {
	switch {
	case n == 0:
		c.Add("[]", "transactItems", "Member must have length greater than or equal to 1")
	case n > maxTransaction:
		c.Add("[...]", "transactItems", "Member must have length less than or equal to 100")
	}
}

func (db *DB) transactAction(it types.TransactWriteItem, a *action) error {
	kinds := 0
	var key item.Item
	var e request.Expressions
	var onFailure types.ReturnValuesOnConditionCheckFailure
	if p := it.Put; p != nil {
		kinds, a.verb, a.table, key, onFailure = kinds+1, verbPut, p.TableName, p.Item, p.ReturnValuesOnConditionCheckFailure
		e = request.Expressions{Condition: p.ConditionExpression, Names: p.ExpressionAttributeNames, Values: p.ExpressionAttributeValues}
	}
	if u := it.Update; u != nil {
		kinds, a.verb, a.table, key, onFailure = kinds+1, verbUpdate, u.TableName, u.Key, u.ReturnValuesOnConditionCheckFailure
		e = request.Expressions{Update: u.UpdateExpression, Condition: u.ConditionExpression, Names: u.ExpressionAttributeNames, Values: u.ExpressionAttributeValues}
	}
	if d := it.Delete; d != nil {
		kinds, a.verb, a.table, key, onFailure = kinds+1, verbDelete, d.TableName, d.Key, d.ReturnValuesOnConditionCheckFailure
		e = request.Expressions{Condition: d.ConditionExpression, Names: d.ExpressionAttributeNames, Values: d.ExpressionAttributeValues}
	}
	if k := it.ConditionCheck; k != nil {
		kinds, a.verb, a.table, key, onFailure = kinds+1, verbCheck, k.TableName, k.Key, k.ReturnValuesOnConditionCheckFailure
		e = request.Expressions{Condition: k.ConditionExpression, Names: k.ExpressionAttributeNames, Values: k.ExpressionAttributeValues}
	}
	if kinds != 1 {
		return dynamo.Validation("TransactItems can only contain one of Check, Put, Update or Delete")
	}
	return db.finishAction(a, key, e, onFailure)
}

func (db *DB) finishAction(a *action, key item.Item, e request.Expressions, onFailure types.ReturnValuesOnConditionCheckFailure) (err error) {
	var cs request.Members
	if key == nil {
		cs.AddNull("transactItems.1.member.key")
	}
	if a.verb == verbCheck && e.Condition == nil {
		cs.AddNull("transactItems.1.member.conditionCheck.conditionExpression")
	}
	if a.verb == verbUpdate && e.Update == nil {
		cs.AddNull("transactItems.1.member.update.updateExpression")
	}
	if err := request.CheckTableName(a.table, &cs); err != nil {
		return err
	}
	exprs := []request.Expression{{Name: "ConditionExpression", Source: e.Condition}}
	if a.verb == verbUpdate {
		exprs = []request.Expression{{Name: "UpdateExpression", Source: e.Update}, {Name: "ConditionExpression", Source: e.Condition}}
	}
	if err := request.CheckMix(exprs, nil, e.Names, e.Values); err != nil {
		return err
	}
	a.all = onFailure == allOldOnFailure
	if a.keyed, err = normalize(key); err != nil {
		return err
	}
	return db.bind(a, e)
}

// consumedByTransaction reports the capacity of a transaction by table.
func (c *commit) consumedByTransaction(how types.ReturnConsumedCapacity, d capacity.Direction) []types.ConsumedCapacity {
	schemas, uses := c.byTable()
	var out []types.ConsumedCapacity
	for _, s := range schemas {
		if cc := capacity.ConsumedTransaction(s.desc, how, d, *uses[s]); cc != nil {
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
	uses := map[*schema]*capacity.Usage{}
	var order []*schema
	for i, g := range gets {
		it, size, err := db.fetch(snap, g.s, g.key, g.projection)
		if err != nil {
			return nil, err
		}
		out.Responses[i].Item = it
		if uses[g.s] == nil {
			uses[g.s] = new(capacity.Usage)
			order = append(order, g.s)
		}
		uses[g.s].Table += 2 * capacity.ReadUnits(size, true)
	}
	for _, s := range order {
		s.meterUse(capacity.Reading, *uses[s])
		if cc := capacity.ConsumedTransaction(s.desc, in.ReturnConsumedCapacity, capacity.Reading, *uses[s]); cc != nil {
			out.ConsumedCapacity = append(out.ConsumedCapacity, *cc)
		}
	}
	return out, nil
}

func (db *DB) checkTransactGet(in *dynamodb.TransactGetItemsInput) ([]transactGet, error) {
	var cs request.Members
	cs.CheckReturns(in.ReturnConsumedCapacity, "", "")
	checkActions(&cs, len(in.TransactItems))
	if err := cs.Err(); err != nil {
		return nil, err
	}
	gets := make([]transactGet, len(in.TransactItems))
	for i, it := range in.TransactItems {
		if it.Get == nil || it.Get.Key == nil {
			cs.AddNull("transactItems.1.member.get")
			return nil, cs.Err()
		}
		if err := request.CheckTableName(it.Get.TableName, &cs); err != nil {
			return nil, err
		}
		sel := request.Selection{Projection: it.Get.ProjectionExpression, Names: it.Get.ExpressionAttributeNames}
		if err := sel.Check(); err != nil {
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
		if reasons[i] = g.s.desc.CheckKey(g.key); reasons[i] != nil {
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
		return request.Cancelled(reasons)
	}
	return nil
}
