package enginebench

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// hot is the number of items or partitions that are read repeatedly.
const hot = 100

func readMeasures() []measure {
	return []measure{
		{"GetItem, hot", takeGet},
		{"Query of 100 items", takeQuery},
	}
}

func takeGet(ctx context.Context, b *bench) (Result, error) {
	keys := make([]item, hot)
	for i := range keys {
		keys[i] = keyOf(some(i, b.live.items))
	}
	r, err := b.pair(ctx, 1, func(ctx context.Context, _, n int) error {
		out, err := b.live.db.GetItem(ctx, &dynamodb.GetItemInput{TableName: ptr(tableName), Key: keys[n%hot]})
		if err == nil && out.Item == nil {
			err = fmt.Errorf("item %v is gone", keys[n%hot])
		}
		return err
	}, func(_ context.Context, _, n int) error {
		return b.raw.get(b.raw.keys[some(n%hot, len(b.raw.keys))])
	})
	r.Against, r.Goal = "raw Pebble Get", 0.4
	return r, err
}

func takeQuery(ctx context.Context, b *bench) (Result, error) {
	partitions := make([]item, hot)
	for i := range partitions {
		partitions[i] = item{":p": text(partitionOf(some(i, b.live.items)))}
	}
	r, err := b.pair(ctx, 1, func(ctx context.Context, _, n int) error {
		out, err := b.live.db.Query(ctx, &dynamodb.QueryInput{TableName: ptr(tableName),
			KeyConditionExpression: ptr("pk = :p"), ExpressionAttributeValues: partitions[n%hot]})
		if err == nil && len(out.Items) != perPartition {
			err = fmt.Errorf("partition %v has %d items", partitions[n%hot], len(out.Items))
		}
		return err
	}, func(_ context.Context, _, n int) error {
		return b.raw.iterate(b.raw.heads[some(n%hot, len(b.raw.heads))], perPartition)
	})
	r.Against, r.Goal = "raw Pebble iteration", 0.3
	return r, err
}
