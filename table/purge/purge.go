// Package purge deletes what belongs to something that is deleted: all of a partition, or of a part of it, whatever entity and
// expired or not, until nothing is written there any more. Products use it for partitions that have one owner.
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

// ErrWritten is returned when items still come after as many rounds as are made.
var ErrWritten = errors.New("still_written: its items are still being written; try again later")

const (
	maxRounds = 12  // deleting facts makes the folds write, and deleting that too
	page      = 500 // keys that are read at a time
	atOnce    = 8   // items that are deleted at a time
)

// Range is items of one partition.
type Range struct {
	Partition string
	Prefix    string // that their sort keys have; "": all
	Keep      string // sort key of the one that stays; "": none
}

// Beside is everything in the partition of an item but for the item itself, which is deleted last.
func Beside(key table.Item) Range {
	return Range{Partition: textOf(key[table.AttrPK]), Keep: textOf(key[table.AttrSK])}
}

func textOf(v types.AttributeValue) string {
	if s, ok := v.(*types.AttributeValueMemberS); ok {
		return s.Value
	}
	return ""
}

// Ranges deletes what is in ranges of a table, and says how many items that were, also with an error. drain waits until what
// was written is folded: before each round, for what was deleted before makes folds write, too. It may be stopped at any
// time and run again. Errors: ErrWritten; those of the table and of drain.
func Ranges(ctx context.Context, t *table.Table, drain func(context.Context) error, ranges ...Range) (deleted int64, err error) {
	p := purge{t: t}
	for range maxRounds {
		if err := drain(ctx); err != nil {
			return p.deleted.Load(), fmt.Errorf("wait until everything is folded: %w", err)
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

// empty deletes what is in a range now.
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
