package engine

import (
	"context"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/engine/internal/capacity"
	"github.com/onefold/onefold/engine/internal/expr"
	"github.com/onefold/onefold/engine/internal/item"
	"github.com/onefold/onefold/engine/internal/request"
	"github.com/onefold/onefold/engine/internal/stripe"
)

// DynamoDB's bounds of batches.
const (
	maxBatchWrites = 25
	maxBatchGets   = 100
	maxBatchBytes  = 16 << 20
)

const duplicateKeys = "Provided list of item keys contains duplicates"

// BatchWriteItem puts and deletes up to 25 items. They are committed together, which DynamoDB does not promise; nothing
// is ever left unprocessed.
func (db *DB) BatchWriteItem(ctx context.Context, in *dynamodb.BatchWriteItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.BatchWriteItemOutput, error) {
	if err := db.begin(ctx); err != nil {
		return nil, err
	}
	actions, err := checkBatchWrite(in)
	if err != nil {
		return nil, err
	}
	out := &dynamodb.BatchWriteItemOutput{UnprocessedItems: map[string][]types.WriteRequest{}}
	c := db.newCommit(len(actions))
	if err := c.performAll(actions); err != nil {
		return nil, c.abandon(err)
	}
	c.publish()
	c.count()
	out.ConsumedCapacity = c.consumedByTable(in.ReturnConsumedCapacity)
	out.ItemCollectionMetrics = c.collections(in.ReturnItemCollectionMetrics)
	if err := c.await(); err != nil {
		return nil, err
	}
	return out, nil
}

func checkBatchWrite(in *dynamodb.BatchWriteItemInput) ([]action, error) {
	var cs request.Members
	cs.CheckReturns(in.ReturnConsumedCapacity, in.ReturnItemCollectionMetrics, "")
	if err := cs.Err(); err != nil {
		return nil, err
	}
	if len(in.RequestItems) == 0 {
		return nil, dynamo.Validation("The requestItems parameter is required for BatchWriteItem")
	}
	var actions []action
	bytes := 0
	for _, table := range slices.Sorted(maps.Keys(in.RequestItems)) {
		requests := in.RequestItems[table]
		if len(requests) == 0 || len(requests) > maxBatchWrites {
			cs.Add("{"+table+"=[...]}", "requestItems", "Map value must satisfy constraint: [Member must have length less than or equal to 25, Member must have length greater than or equal to 1]")
			return nil, cs.Err()
		}
		for _, w := range requests {
			a, err := batchAction(&table, w)
			if err != nil {
				return nil, err
			}
			bytes += item.Size(a.keyed)
			actions = append(actions, a)
		}
	}
	if len(actions) > maxBatchWrites {
		return nil, dynamo.Validation("Too many items requested for the BatchWriteItem call")
	}
	if bytes > maxBatchBytes {
		return nil, dynamo.Validation("Request size exceeded the maximum of 16 MB")
	}
	return actions, nil
}

func batchAction(table *string, w types.WriteRequest) (action, error) {
	put, del := w.PutRequest, w.DeleteRequest
	switch {
	case put != nil && del != nil:
		return action{}, dynamo.Validation("Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes")
	case put != nil:
		it, err := normalize(put.Item)
		return action{verb: verbPut, table: table, keyed: it}, err
	case del != nil:
		key, err := normalize(del.Key)
		return action{verb: verbDelete, table: table, keyed: key}, err
	}
	return action{}, dynamo.Validation("Supplied AttributeValue is empty, must contain exactly one of the supported datatypes")
}

// performAll carries out the actions of a batch, all of them on different items.
func (c *commit) performAll(actions []action) error {
	if err := c.resolveAll(actions, duplicateKeys, nil); err != nil {
		return err
	}
	for i := range actions {
		if _, err := c.perform(&actions[i]); err != nil {
			return err
		}
	}
	return nil
}

// resolveAll enters the tables of the actions, checks the actions against them and takes the stripes of their items.
// Two actions on one item are refused with the given text. With reasons, which has one place for each action, faults of
// single actions are noted there, and those actions have no row key.
func (c *commit) resolveAll(actions []action, duplicate string, reasons []error) error {
	schemas := map[string]*schema{}
	for i := range actions {
		name := request.TableName(actions[i].table)
		if schemas[name] == nil {
			s, err := c.enter(actions[i].table)
			if err != nil {
				return err
			}
			schemas[name] = s
		}
	}
	seen := make(map[string]bool, len(actions))
	for i := range actions {
		a := &actions[i]
		if err := a.resolve(c, schemas[request.TableName(a.table)]); err != nil {
			if reasons == nil {
				return err
			}
			reasons[i] = err
			continue
		}
		if seen[string(a.key)] {
			return dynamo.Validation("%s", duplicate)
		}
		seen[string(a.key)] = true
		c.wanted = append(c.wanted, stripe.Of(a.key))
	}
	c.lock()
	return nil
}

// byTable sums the capacity of the changes, in the order in which the tables appear.
func (c *commit) byTable() (schemas []*schema, uses map[*schema]*capacity.Usage) {
	uses = map[*schema]*capacity.Usage{}
	for i := range c.changes {
		ch := &c.changes[i]
		if uses[ch.s] == nil {
			uses[ch.s] = new(capacity.Usage)
			schemas = append(schemas, ch.s)
		}
		uses[ch.s].Add(ch.use)
	}
	return schemas, uses
}

func (c *commit) consumedByTable(how types.ReturnConsumedCapacity) []types.ConsumedCapacity {
	schemas, uses := c.byTable()
	var out []types.ConsumedCapacity
	for _, s := range schemas {
		if cc := capacity.Consumed(s.desc, how, *uses[s]); cc != nil {
			out = append(out, *cc)
		}
	}
	return out
}

func (c *commit) collections(how types.ReturnItemCollectionMetrics) map[string][]types.ItemCollectionMetrics {
	var out map[string][]types.ItemCollectionMetrics
	for i := range c.changes {
		m := c.changes[i].collection(how)
		if m == nil {
			continue
		}
		if out == nil {
			out = map[string][]types.ItemCollectionMetrics{}
		}
		name := c.changes[i].s.desc.Name
		out[name] = append(out[name], *m)
	}
	return out
}

// BatchGetItem returns up to 100 items. Nothing is ever left unprocessed unless the response would exceed 16 MB.
func (db *DB) BatchGetItem(ctx context.Context, in *dynamodb.BatchGetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	if err := db.begin(ctx); err != nil {
		return nil, err
	}
	gets, err := db.checkBatchGet(in)
	if err != nil {
		return nil, err
	}
	for i := range gets {
		if err := gets[i].resolve(db); err != nil {
			return nil, err
		}
	}
	out := &dynamodb.BatchGetItemOutput{
		Responses:       make(map[string][]map[string]types.AttributeValue, len(gets)),
		UnprocessedKeys: map[string]types.KeysAndAttributes{},
	}
	bytes := 0
	for i := range gets {
		if err := db.batchGet(&gets[i], in, out, &bytes); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// tableGet is the part of a batch that concerns one table.
type tableGet struct {
	table      string
	s          *schema
	keys       []item.Item
	rows       [][]byte
	projection *expr.Projection
	consistent bool
}

func (db *DB) checkBatchGet(in *dynamodb.BatchGetItemInput) ([]tableGet, error) {
	var cs request.Members
	cs.CheckReturns(in.ReturnConsumedCapacity, "", "")
	if err := cs.Err(); err != nil {
		return nil, err
	}
	if len(in.RequestItems) == 0 {
		return nil, dynamo.Validation("The requestItems parameter is required for BatchGetItem")
	}
	gets, total := make([]tableGet, 0, len(in.RequestItems)), 0
	for _, table := range slices.Sorted(maps.Keys(in.RequestItems)) {
		ka := in.RequestItems[table]
		if n := len(ka.Keys); n == 0 || n > maxBatchGets {
			bound := "less than or equal to 100"
			if n == 0 {
				bound = "greater than or equal to 1"
			}
			return nil, dynamo.Validation("1 validation error detected: Value at 'RequestItems.%s.member.Keys' failed to satisfy constraint: Member must have length %s", table, bound)
		}
		g, err := db.tableGet(table, ka)
		if err != nil {
			return nil, err
		}
		total += len(g.keys)
		gets = append(gets, g)
	}
	if total > maxBatchGets {
		return nil, dynamo.Validation("Too many items requested for the BatchGetItem call")
	}
	return gets, nil
}

func (db *DB) tableGet(table string, ka types.KeysAndAttributes) (tableGet, error) {
	g := tableGet{table: table, consistent: request.IsTrue(ka.ConsistentRead), keys: make([]item.Item, 0, len(ka.Keys))}
	sel := request.Selection{Projection: ka.ProjectionExpression, Names: ka.ExpressionAttributeNames, Attributes: ka.AttributesToGet}
	if err := sel.Check(); err != nil {
		return g, err
	}
	for _, key := range ka.Keys {
		key, err := normalize(key)
		if err != nil {
			return g, err
		}
		g.keys = append(g.keys, key)
	}
	var err error
	g.projection, err = db.bindProjection(sel)
	return g, err
}

// resolve checks the keys against the table and refuses two of the same item.
func (g *tableGet) resolve(db *DB) (err error) {
	if g.s, err = db.schemaOf(&g.table); err != nil {
		return err
	}
	seen := make(map[string]bool, len(g.keys))
	for _, key := range g.keys {
		if err := g.s.desc.CheckKey(key); err != nil {
			return err
		}
		row, err := g.s.appendItemKey(nil, key)
		if err != nil {
			return err
		}
		if seen[string(row)] {
			return dynamo.Validation(duplicateKeys)
		}
		seen[string(row)] = true
		g.rows = append(g.rows, row)
	}
	return nil
}

// batchGet reads the items of one table into the response; bytes counts what the response holds.
func (db *DB) batchGet(g *tableGet, in *dynamodb.BatchGetItemInput, out *dynamodb.BatchGetItemOutput, bytes *int) (err error) {
	rows, err := db.rows()
	if err != nil {
		return err
	}
	defer func() { err = joinClose(err, rows) }()
	items := make([]map[string]types.AttributeValue, 0, len(g.rows))
	var u capacity.Usage
	for i, row := range g.rows {
		if *bytes >= maxBatchBytes {
			rest := in.RequestItems[g.table]
			rest.Keys = in.RequestItems[g.table].Keys[i:]
			out.UnprocessedKeys[g.table] = rest
			break
		}
		it, size, err := seekRow(rows, row, g.projection)
		if err != nil {
			return err
		}
		*bytes += size
		u.Table += capacity.ReadUnits(size, g.consistent)
		if it != nil {
			items = append(items, it)
		}
	}
	out.Responses[g.table] = items
	g.s.meterUse(capacity.Reading, u)
	if cc := capacity.Consumed(g.s.desc, in.ReturnConsumedCapacity, u); cc != nil {
		out.ConsumedCapacity = append(out.ConsumedCapacity, *cc)
	}
	return nil
}
