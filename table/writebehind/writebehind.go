// Package writebehind is a write-ahead queue for a table that cannot be reached. It keeps items in a
// spool on disk and creates them when the table is back: each item once, and items of one owner in
// the order in which they came.
//
// It is for facts whose keys are derived from IDs of their senders, so that creating one twice is
// harmless. It is not for anything whose response depends on the contents of the table.
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

// atOnce is the number of concurrent creates.
const atOnce = 64

// Queue holds waiting items of one entity in a spool, which may also hold other records.
type Queue struct {
	Spool *spool.Spool
	Kind  byte   // of its records in the spool
	Owner string // name of a text attribute: items with the same value are created one after the other
	Table *table.Table
	// Create creates items of the entity; see table.Entity.CreateItems.
	Create func(ctx context.Context, t *table.Table, items []table.Item, atOnce int) []error
}

// Waiting reports whether something waits in the spool. New items must then be queued too, to keep
// the order.
func (q *Queue) Waiting() bool { return q.Spool.Waiting() }

// Add queues items. When it returns nil, they are durable. Otherwise the error is a dynamo.Failure,
// because the table is unavailable and the spool cannot accept the items. Its kind is Full if the
// disk is full.
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

// Keep queues the items of n things, and then calls kept for each queued one. item returns the item
// of a thing, or nil if the thing need not be queued. If item fails, nothing is queued and Keep
// returns that error; other errors are those of Add.
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

// Sink creates queued items. It is a spool.Sink. It returns the records that can never be created;
// after an error, all records remain queued.
func (q *Queue) Sink(ctx context.Context, bodies [][]byte) (refused [][]byte, err error) {
	var waves [][]waiting // no wave contains two items of one owner
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

// waiting is an item and its record in the spool.
type waiting struct {
	item table.Item
	body []byte
}

// create creates the items of a wave. It returns the records of items that the table will never
// accept.
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
		return nil, fmt.Errorf("writebehind: %w", err)
	}
	return refused, nil
}
