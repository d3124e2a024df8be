package engine

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/engine/internal/capacity"
	"github.com/onefold/onefold/engine/internal/request"
)

// TransactWriteItems performs up to 100 actions on different items, all of them or none.
func (db *DB) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, _ ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	call, err := begin(ctx, db, &in)
	if err != nil {
		return nil, err
	}
	defer call.End()
	writes, err := request.TransactWrites(db.parser, in)
	if err != nil {
		return nil, err
	}
	actions := actionsOf(writes)
	c := db.newCommit(len(actions))
	defer c.fatalPanic()
	reasons := make([]error, len(actions))
	if err := c.resolveAll(actions, request.DuplicateActions, reasons); err != nil {
		return nil, c.abandon(err)
	}
	if in.ClientRequestToken != nil && errors.Join(reasons...) == nil {
		done, err := c.claim(*in.ClientRequestToken, request.Digest(writes))
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

// transact performs every action, so that each failure is reported, and fails if any of them
// failed.
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

// consumedByTransaction returns the capacity consumed by a transaction, by table.
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

// transactGet is one read in a transaction.
type transactGet struct {
	request.TransactGet
	s   *schema
	row []byte // row key
}

// TransactGetItems reads up to 100 items as of one moment.
func (db *DB) TransactGetItems(ctx context.Context, in *dynamodb.TransactGetItemsInput, _ ...func(*dynamodb.Options)) (_ *dynamodb.TransactGetItemsOutput, err error) {
	call, err := begin(ctx, db, &in)
	if err != nil {
		return nil, err
	}
	defer call.End()
	checked, err := request.TransactGets(db.parser, in)
	if err != nil {
		return nil, err
	}
	gets := make([]transactGet, len(checked))
	for i := range gets {
		gets[i].TransactGet = checked[i]
	}
	if err := db.resolveGets(gets); err != nil {
		return nil, err
	}
	snap := db.store.NewSnapshot()
	defer func() { err = joinClose(err, snap) }()
	out := &dynamodb.TransactGetItemsOutput{Responses: make([]types.ItemResponse, len(gets))}
	uses := map[*schema]*capacity.Usage{}
	var order []*schema
	second := db.now().Unix()
	for i, g := range gets {
		it, size, err := fetchRow(snap, g.row, g.Projection)
		if err != nil {
			return nil, err
		}
		out.Responses[i].Item = it
		if uses[g.s] == nil {
			uses[g.s] = new(capacity.Usage)
			order = append(order, g.s)
		}
		u := capacity.Usage{Table: 2 * capacity.ReadUnits(size, true)}
		g.s.meterRead(second, nil, g.row, u)
		uses[g.s].Add(u)
	}
	for _, s := range order {
		if cc := capacity.ConsumedTransaction(s.desc, in.ReturnConsumedCapacity, capacity.Reading, *uses[s]); cc != nil {
			out.ConsumedCapacity = append(out.ConsumedCapacity, *cc)
		}
	}
	return out, nil
}

// resolveGets checks the keys. A wrong key cancels the transaction.
func (db *DB) resolveGets(gets []transactGet) (err error) {
	for i := range gets {
		if gets[i].s, err = db.schemaOf(gets[i].Table); err != nil {
			return err
		}
	}
	reasons, failed, twice := make([]error, len(gets)), false, false
	seen := make(map[string]bool, len(gets))
	for i := range gets {
		g := &gets[i]
		if reasons[i] = g.s.desc.CheckKey(g.Key); reasons[i] != nil {
			failed = true
			continue
		}
		if g.row, err = g.s.AppendItemKey(nil, g.Key); err != nil {
			return err
		}
		twice = twice || seen[string(g.row)]
		seen[string(g.row)] = true
	}
	switch {
	case failed:
		return request.Cancelled(reasons)
	case twice:
		return request.Invalid(request.DuplicateActions)
	}
	return nil
}
