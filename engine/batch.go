package engine

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/engine/internal/capacity"
	"github.com/onefold/onefold/engine/internal/request"
	"github.com/onefold/onefold/engine/internal/stripe"
)

// BatchWriteItem puts and deletes up to 25 items. Unlike in DynamoDB, they are committed atomically
// and none is ever left unprocessed.
func (db *DB) BatchWriteItem(ctx context.Context, in *dynamodb.BatchWriteItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.BatchWriteItemOutput, error) {
	call, err := begin(ctx, db, &in)
	if err != nil {
		return nil, err
	}
	defer call.End()
	writes, err := request.BatchWrites(in)
	if err != nil {
		return nil, err
	}
	actions := actionsOf(writes)
	out := &dynamodb.BatchWriteItemOutput{UnprocessedItems: map[string][]types.WriteRequest{}}
	c := db.newCommit(len(actions))
	defer c.fatalPanic()
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

// performAll performs the actions of a batch, which are all on different items.
func (c *commit) performAll(actions []action) error {
	if err := c.resolveAll(actions, request.DuplicateKeys, nil); err != nil {
		return err
	}
	return c.withIterator(func() error {
		for i := range actions {
			if _, err := c.perform(&actions[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

// resolveAll enters the tables of the actions, checks the actions against their schemas and takes
// the stripes of their items. Two actions on the same item are rejected with the text duplicate. If
// reasons is not nil, it has one element per action and receives the errors of single actions,
// which then have no row key.
func (c *commit) resolveAll(actions []action, duplicate string, reasons []error) error {
	schemas := map[string]*schema{}
	for i := range actions {
		name := request.TableName(actions[i].Table)
		if schemas[name] == nil {
			s, err := c.enterTable(actions[i].Table)
			if err != nil {
				return err
			}
			schemas[name] = s
		}
	}
	seen := make(map[string]bool, len(actions))
	for i := range actions {
		a := &actions[i]
		if err := a.resolve(c, schemas[request.TableName(a.Table)]); err != nil {
			if reasons == nil {
				return err
			}
			reasons[i] = err
			continue
		}
		if seen[string(a.key)] {
			return request.Invalid("%s", duplicate)
		}
		seen[string(a.key)] = true
		c.wanted = append(c.wanted, stripe.Of(a.key))
	}
	c.lock()
	return nil
}

// byTable sums the capacity of the changes by table. Tables are in the order of first use.
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

// BatchGetItem returns up to 100 items. Keys remain unprocessed only if the response would exceed
// 16 MB.
func (db *DB) BatchGetItem(ctx context.Context, in *dynamodb.BatchGetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	call, err := begin(ctx, db, &in)
	if err != nil {
		return nil, err
	}
	defer call.End()
	checked, err := request.BatchGets(db.parser, in)
	if err != nil {
		return nil, err
	}
	gets := make([]tableGet, len(checked))
	for i := range gets {
		gets[i].Gets = checked[i]
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

// tableGet is the part of a batch for one table.
type tableGet struct {
	request.Gets
	s    *schema
	rows [][]byte
}

// resolve checks the keys against the table's schema and rejects duplicates.
func (g *tableGet) resolve(db *DB) (err error) {
	if g.s, err = db.schemaOf(&g.Table); err != nil {
		return err
	}
	seen := make(map[string]bool, len(g.Keys))
	for _, key := range g.Keys {
		if err := g.s.desc.CheckKey(key); err != nil {
			return err
		}
		row, err := g.s.AppendItemKey(nil, key)
		if err != nil {
			return err
		}
		if seen[string(row)] {
			return request.Invalid(request.DuplicateKeys)
		}
		seen[string(row)] = true
		g.rows = append(g.rows, row)
	}
	return nil
}

// batchGet reads the items of one table into the response. bytes counts the size of the response.
func (db *DB) batchGet(g *tableGet, in *dynamodb.BatchGetItemInput, out *dynamodb.BatchGetItemOutput, bytes *int) (err error) {
	rows, err := db.rows()
	if err != nil {
		return err
	}
	defer func() { err = joinClose(err, rows) }()
	items := make([]map[string]types.AttributeValue, 0, len(g.rows))
	var u capacity.Usage
	second := db.now().Unix()
	for i, row := range g.rows {
		if *bytes >= request.MaxBatchBytes {
			rest := in.RequestItems[g.Table]
			rest.Keys = in.RequestItems[g.Table].Keys[i:]
			out.UnprocessedKeys[g.Table] = rest
			break
		}
		it, size, err := seekRow(rows, row, g.Projection)
		if err != nil {
			return err
		}
		*bytes += size
		of := capacity.Usage{Table: capacity.ReadUnits(size, g.Consistent)}
		g.s.meterRead(second, nil, row, of)
		u.Add(of)
		if it != nil {
			items = append(items, it)
		}
	}
	out.Responses[g.Table] = items
	if cc := capacity.Consumed(g.s.desc, in.ReturnConsumedCapacity, u); cc != nil {
		out.ConsumedCapacity = append(out.ConsumedCapacity, *cc)
	}
	return nil
}
