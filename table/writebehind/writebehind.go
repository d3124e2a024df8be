// Package writebehind queues items on disk while their table is unreachable, and creates them when it is back: each
// once, those of one owner in the order in which they arrived. It is for facts whose keys are made of their senders' IDs,
// so that creating one twice is harmless, and not for writes whose result depends on stored items.
package writebehind

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/dynamo/dynamojson"
	"github.com/onefold/onefold/internal/spool"
	"github.com/onefold/onefold/table"
)

// atOnce is how many items are created at a time.
const atOnce = 64

// Queue is the items of one entity that wait in a spool, which may hold other things, too.
type Queue struct {
	Spool *spool.Spool
	Kind  byte   // of its records
	Owner string // attribute, a text: items with the same are created one after the other
	Table *table.Table
	// Create is a Create of each item by the entity, see table.Entity.CreateItems.
	Create func(ctx context.Context, t *table.Table, items []table.Item, atOnce int) []error
}

// Waiting reports whether something waits in the spool: what comes now goes behind it.
func (q *Queue) Waiting() bool { return q.Spool.Waiting() }

// Add keeps items until they are created. When it returns nil, they are durable. Errors: a dynamo.Failure, since the table
// is away and the spool does not take them, of the kind Full when that is for its disk.
func (q *Queue) Add(ctx context.Context, items []table.Item) error {
	now := q.Table.Now()
	records := make([]spool.Record, len(items))
	for i, it := range items {
		records[i] = spool.Record{Kind: q.Kind, At: now, Body: dynamojson.Append(nil, &dynamodb.PutItemInput{Item: it})}
	}
	if err := q.Spool.Append(ctx, records); err != nil {
		kind := dynamo.Unreachable
		if errors.Is(err, syscall.ENOSPC) {
			kind = dynamo.Full
		}
		return &dynamo.Failure{Kind: kind, After: 10 * time.Second, Err: err}
	}
	return nil
}

// Keep adds the items of n things, and says of each when it is durable. item makes the item of one, or none of a thing that needs
// no keeping any more. Errors: those of item, and then nothing is kept; those of Add.
func (q *Queue) Keep(ctx context.Context, n int, item func(i int) (table.Item, error), kept func(i int)) error {
	items, of := make([]table.Item, 0, n), make([]int, 0, n)
	for i := range n {
		it, err := item(i)
		if err != nil {
			return err
		}
		if it != nil {
			items, of = append(items, it), append(of, i)
		}
	}
	if err := q.Add(ctx, items); err != nil {
		return err
	}
	for _, i := range of {
		kept(i)
	}
	return nil
}

// Sink creates items that waited. It is a spool.Sink.
func (q *Queue) Sink(ctx context.Context, bodies [][]byte) (refused [][]byte, err error) {
	var waves [][]waiting // no owner has two items in one
	turn := map[string]int{}
	for _, body := range bodies {
		var in dynamodb.PutItemInput
		if err := dynamojson.DecodeInput(body, &in); err != nil || len(in.Item) == 0 {
			refused = append(refused, body)
			continue
		}
		n := 0
		if owner, ok := in.Item[q.Owner].(*types.AttributeValueMemberS); ok {
			n = turn[owner.Value]
			turn[owner.Value]++
		}
		if n == len(waves) {
			waves = append(waves, nil)
		}
		waves[n] = append(waves[n], waiting{in.Item, body})
	}
	for _, wave := range waves {
		left, err := q.create(ctx, wave)
		if err != nil {
			return nil, err
		}
		refused = append(refused, left...)
	}
	return refused, nil
}

// waiting is an item, and the record that it was.
type waiting struct {
	item table.Item
	body []byte
}

// create returns the records of items that the table will never take.
func (q *Queue) create(ctx context.Context, wave []waiting) (refused [][]byte, err error) {
	items := make([]table.Item, len(wave))
	for i := range wave {
		items[i] = wave[i].item
	}
	for i, e := range q.Create(ctx, q.Table, items, atOnce) {
		switch {
		case e == nil, errors.Is(e, table.ErrExists):
		case errors.Is(e, table.ErrWrongEntity), errors.Is(e, table.ErrTooLarge), dynamo.Code(e) == dynamo.CodeValidation:
			refused = append(refused, wave[i].body)
		case err == nil:
			err = e
		}
	}
	if err != nil {
		return nil, fmt.Errorf("later: %w", err)
	}
	return refused, nil
}
