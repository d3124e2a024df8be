package engine

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/engine/internal/capacity"
	"github.com/onefold/onefold/engine/internal/expr"
	"github.com/onefold/onefold/engine/internal/item"
	"github.com/onefold/onefold/engine/internal/request"
	"github.com/onefold/onefold/engine/internal/row"
	"github.com/onefold/onefold/engine/internal/stripe"
)

// PutItem stores an item, and replaces an existing one with the same key.
func (db *DB) PutItem(ctx context.Context, in *dynamodb.PutItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	return execute(ctx, db, in, (*request.Write).CheckPut, func(in *dynamodb.PutItemInput, _ *action, ch *change) (out dynamodb.PutItemOutput, err error) {
		out.ConsumedCapacity = capacity.Consumed(ch.s.desc, in.ReturnConsumedCapacity, ch.use)
		out.ItemCollectionMetrics = ch.collection(in.ReturnItemCollectionMetrics)
		out.Attributes, err = ch.replaced(in.ReturnValues)
		return out, err
	})
}

// DeleteItem deletes an item. Deleting a missing item is not an error.
func (db *DB) DeleteItem(ctx context.Context, in *dynamodb.DeleteItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error) {
	return execute(ctx, db, in, (*request.Write).CheckDelete, func(in *dynamodb.DeleteItemInput, _ *action, ch *change) (out dynamodb.DeleteItemOutput, err error) {
		out.ConsumedCapacity = capacity.Consumed(ch.s.desc, in.ReturnConsumedCapacity, ch.use)
		out.ItemCollectionMetrics = ch.collection(in.ReturnItemCollectionMetrics)
		out.Attributes, err = ch.replaced(in.ReturnValues)
		return out, err
	})
}

// UpdateItem changes attributes of an item, and creates it if it does not exist.
func (db *DB) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	return execute(ctx, db, in, (*request.Write).CheckUpdate, func(in *dynamodb.UpdateItemInput, a *action, ch *change) (out dynamodb.UpdateItemOutput, err error) {
		out.ConsumedCapacity = capacity.Consumed(ch.s.desc, in.ReturnConsumedCapacity, ch.use)
		out.ItemCollectionMetrics = ch.collection(in.ReturnItemCollectionMetrics)
		out.Attributes, err = a.returned(ch, in.ReturnValues)
		return out, err
	})
}

// execute checks a request, performs its write, and answers from the change. A nil request is an
// empty one.
func execute[In, Out any](ctx context.Context, db *DB, in *In, check func(*request.Write, *expr.Parser, *In) error,
	answer func(*In, *action, *change) (Out, error)) (*Out, error) {
	call, err := begin(ctx, db, &in)
	if err != nil {
		return nil, err
	}
	defer call.End()
	var a action
	if err := check(&a.Write, db.parser, in); err != nil {
		return nil, err
	}
	var out Out
	err = db.write(&a, func(ch *change) (err error) {
		out, err = answer(in, &a, ch)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &out, nil
}

// replaced returns the item as it was before a put or delete, if the request asks for it.
func (ch *change) replaced(how types.ReturnValue) (item.Item, error) {
	if how != types.ReturnValueAllOld {
		return nil, nil
	}
	return row.Decode(ch.old)
}

// returned returns the attributes to return from an update: the whole item or only the touched
// ones, before or after.
func (a *action) returned(ch *change, how types.ReturnValue) (item.Item, error) {
	image := ch.old
	if how == types.ReturnValueAllNew || how == types.ReturnValueUpdatedNew {
		image = ch.row
	} else if how != types.ReturnValueAllOld && how != types.ReturnValueUpdatedOld {
		return nil, nil
	}
	it, err := row.Decode(image)
	if err != nil || it == nil || how == types.ReturnValueAllOld || how == types.ReturnValueAllNew {
		return it, err
	}
	if a.Update == nil {
		return nil, nil
	}
	if it = a.Update.Project(it); len(it) == 0 {
		return nil, nil
	}
	return it, nil
}

// write performs one action. It calls answer when the change is visible, before it is on disk.
func (db *DB) write(a *action, answer func(*change) error) error {
	c := db.newCommit(1)
	defer c.fatalPanic()
	s, err := c.enterTable(a.Table)
	if err != nil {
		return c.abandon(err)
	}
	if err := a.resolve(c, s); err != nil {
		return c.abandon(err)
	}
	c.wanted = append(c.wanted, stripe.Of(a.key))
	c.lock()
	ch, err := c.perform(a)
	if err != nil {
		return c.abandon(err)
	}
	c.publish()
	c.count()
	err = answer(ch)
	if werr := c.await(); werr != nil {
		return werr
	}
	return err
}

// count adds the capacity consumed by a published commit to the meters.
func (c *commit) count() {
	if c.failed != nil {
		return
	}
	for i := range c.changes {
		c.changes[i].meterChange(c.now / 1000)
	}
}
