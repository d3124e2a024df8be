package enginebench

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/dynamo"
)

const rawBatches = "the same rows as raw Pebble batches"

func writeMeasures() []measure {
	return []measure{
		{"PutItem, 1 writer", putMeasure(1)},
		{"PutItem, 32 writers", putMeasure(32)},
		{"BatchWriteItem of 25, 8 writers", takeBatch},
		{"UpdateItem ADD, 32 writers on 32 items", updateMeasure(32)},
		{"UpdateItem ADD, 32 writers on 1 item", updateMeasure(1)},
		{"TransactWriteItems of 4, 8 writers", takeTransact},
	}
}

// fresh returns the number of a new item of a worker. The numbers follow those of all existing
// items and never repeat; each benchmark has its own block.
func fresh(block, worker, n int) int { return 1_000_000_000*(1+block) + worker*20_000_000 + n }

func put(api dynamo.API, block int) side {
	return func(ctx context.Context, worker, n int) error {
		_, err := api.PutItem(ctx, &dynamodb.PutItemInput{TableName: ptr(tableName), Item: itemOf(fresh(block, worker, n))})
		return err
	}
}

func putMeasure(writers int) func(context.Context, *bench) (Result, error) {
	return func(ctx context.Context, b *bench) (Result, error) {
		r, err := b.pair(ctx, writers, put(b.live.db, writers), func(_ context.Context, worker, n int) error {
			return b.raw.put(uint64(fresh(writers, worker, n)), 1)
		})
		r.Against, r.Goal = rawBatches, 0.6
		return r, err
	}
}

func takeBatch(ctx context.Context, b *bench) (Result, error) {
	const block, size = 40, 25
	r, err := b.pair(ctx, 8, func(ctx context.Context, worker, n int) error {
		writes := make([]types.WriteRequest, size)
		for i := range writes {
			writes[i].PutRequest = &types.PutRequest{Item: itemOf(fresh(block, worker, n*size+i))}
		}
		out, err := b.live.db.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{tableName: writes}})
		if err == nil && len(out.UnprocessedItems) > 0 {
			err = fmt.Errorf("%d items were left unprocessed", len(out.UnprocessedItems[tableName]))
		}
		return err
	}, func(_ context.Context, worker, n int) error {
		return b.raw.put(uint64(fresh(block, worker, n)), size)
	})
	r.Against, r.Goal = rawBatches, 0.5
	return r, err
}

func updateMeasure(items int) func(context.Context, *bench) (Result, error) {
	return func(ctx context.Context, b *bench) (Result, error) {
		r, err := b.pair(ctx, 32, func(ctx context.Context, worker, _ int) error {
			_, err := b.live.db.UpdateItem(ctx, &dynamodb.UpdateItemInput{
				TableName: ptr(tableName), Key: keyOf(worker % items * perPartition),
				UpdateExpression: ptr("ADD n :1"), ExpressionAttributeValues: item{":1": number(1)},
			})
			return err
		}, put(b.live.db, 41+items))
		r.Against = "PutItem, 32 writers"
		return r, err
	}
}

func takeTransact(ctx context.Context, b *bench) (Result, error) {
	const block, size = 50, 4
	return b.alone(ctx, 8, func(ctx context.Context, worker, n int) error {
		var in dynamodb.TransactWriteItemsInput
		for i := range size {
			in.TransactItems = append(in.TransactItems, types.TransactWriteItem{Put: &types.Put{
				TableName: ptr(tableName), Item: itemOf(fresh(block, worker, n*size+i)),
				ConditionExpression: ptr("attribute_not_exists(pk)"),
			}})
		}
		_, err := b.live.db.TransactWriteItems(ctx, &in)
		return err
	})
}
