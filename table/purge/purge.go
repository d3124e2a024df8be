// Package purge deletes all items that belonged to a deleted owner: everything in a partition, or
// in a part of it, regardless of entity and expiry, and repeats until nothing more is written
// there.
package purge

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"github.com/onefold/onefold/table"
)

// ErrWritten is returned if items are still being written after the last round.
var ErrWritten = errors.New("still_written: its items are still being written; try again later")

const (
	maxRounds = 12  // deleting facts makes folds write, and those items must be deleted too
	page      = 500 // keys read at a time
	atOnce    = 8   // concurrent deletes
)

// Range selects items of one partition.
type Range struct {
	Partition string
	Prefix    string // of their sort keys; "" selects all
	Keep      string // sort key of one item to keep; "" keeps none
}

// RestOfPartition selects everything in the partition of an item except the item itself, which should be
// deleted last.
func RestOfPartition(key table.Item) Range {
	return Range{Partition: textOf(key[table.AttrPK]), Keep: textOf(key[table.AttrSK])}
}

func textOf(v types.AttributeValue) string {
	if s, ok := v.(*types.AttributeValueMemberS); ok {
		return s.Value
	}
	return ""
}

// Ranges deletes all items in the given ranges and returns how many it deleted, also after an
// error. Before each round it calls drain, which must wait until all writes are folded, because
// deletions make folds write again. It may be interrupted at any time and run again. Errors:
// ErrWritten after 12 rounds; those of the table and of drain.
func Ranges(ctx context.Context, t *table.Table, drain func(context.Context) error, ranges ...Range) (deleted int64, err error) {
	p := purge{t: t}
	for range maxRounds {
		if err := drain(ctx); err != nil {
			return p.deleted.Load(), fmt.Errorf("wait for folds: %w", err)
		}
		before := p.deleted.Load()
		for _, r := range ranges {
			if err := p.empty(ctx, r); err != nil {
				return p.deleted.Load(), fmt.Errorf("purge: %w", err)
			}
		}
		if p.deleted.Load() == before {
			return before, nil
		}
	}
	return p.deleted.Load(), ErrWritten
}

type purge struct {
	t       *table.Table
	deleted atomic.Int64
}

// empty deletes the items now in a range.
func (p *purge) empty(ctx context.Context, r Range) error {
	in := &dynamodb.QueryInput{
		TableName: new(p.t.Name()), Limit: new(int32(page)), ConsistentRead: new(true),
		KeyConditionExpression: new("#pk = :pk"), ProjectionExpression: new("#pk, #sk"),
		ExpressionAttributeNames:  map[string]string{"#pk": table.AttrPK, "#sk": table.AttrSK},
		ExpressionAttributeValues: table.Item{":pk": &types.AttributeValueMemberS{Value: r.Partition}},
	}
	if r.Prefix != "" {
		in.KeyConditionExpression = new("#pk = :pk AND begins_with(#sk, :sk)")
		in.ExpressionAttributeValues[":sk"] = &types.AttributeValueMemberS{Value: r.Prefix}
	}
	for {
		out, err := p.t.API().Query(ctx, in)
		if err != nil {
			return err
		}
		if err := p.remove(ctx, out.Items, r.Keep); err != nil {
			return err
		}
		if in.ExclusiveStartKey = out.LastEvaluatedKey; in.ExclusiveStartKey == nil {
			return nil
		}
	}
}

func (p *purge) remove(ctx context.Context, keys []table.Item, keep string) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(atOnce)
	for _, key := range keys {
		if keep != "" && textOf(key[table.AttrSK]) == keep {
			continue
		}
		g.Go(func() error {
			_, err := p.t.API().DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: new(p.t.Name()), Key: key})
			if err == nil {
				p.deleted.Add(1)
			}
			return err
		})
	}
	return g.Wait()
}
