package enginebench

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// hot is how many items, or partitions, are read over and over.
const hot = 100

func readMeasures() []measure {
	return []measure{
		{"GetItem, hot", takeGet},
		{"Query of 100 items", takeQuery},
	}
}

func takeGet(ctx context.Context, b *bench) (Result, error) {
	r, err := b.pair(ctx, 1, func(ctx context.Context, _, n int) error {
		out, err := b.live.db.GetItem(ctx, &dynamodb.GetItemInput{TableName: ptr(tableName), Key: keyOf(some(n%hot, b.live.items))})
		if err == nil && out.Item == nil {
			err = fmt.Errorf("item %d is gone", some(n%hot, b.live.items))
		}
		return err
	}, func(_ context.Context, _, n int) error {
		return b.raw.get(b.raw.keys[some(n%hot, len(b.raw.keys))])
	})
	r.Against, r.Goal = "raw Pebble Get", 0.4
	return r, err
}

func takeQuery(ctx context.Context, b *bench) (Result, error) {
	partitions := b.live.items / perPartition
	r, err := b.pair(ctx, 1, func(ctx context.Context, _, n int) error {
		first := some(n%hot, partitions) * perPartition
		out, err := b.live.db.Query(ctx, &dynamodb.QueryInput{TableName: ptr(tableName),
			KeyConditionExpression: ptr("pk = :p"), ExpressionAttributeValues: item{":p": text(partitionOf(first))}})
		if err == nil && len(out.Items) != perPartition {
			err = fmt.Errorf("partition %s has %d items", partitionOf(first), len(out.Items))
		}
		return err
	}, func(_ context.Context, _, n int) error {
		return b.raw.iterate(b.raw.heads[some(n%hot, len(b.raw.heads))], perPartition)
	})
	r.Against, r.Goal = "raw Pebble iteration", 0.3
	return r, err
}
