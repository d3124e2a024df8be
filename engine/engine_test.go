package engine_test

import (
	"context"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/onefold/onefold/engine"
)

func ptr[T any](v T) *T { return &v }

func str(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func TestFirst(t *testing.T) {
	ctx := context.Background()
	db, err := engine.Open(t.TempDir(), engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	_, err = db.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName: ptr("table"), BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: ptr("pk"), AttributeType: "S"}, {AttributeName: ptr("sk"), AttributeType: "S"}, {AttributeName: ptr("gsi1pk"), AttributeType: "S"}, {AttributeName: ptr("gsi1sk"), AttributeType: "S"}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: ptr("pk"), KeyType: "HASH"}, {AttributeName: ptr("sk"), KeyType: "RANGE"}},
		GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{{IndexName: ptr("gsi1"), Projection: &types.Projection{ProjectionType: "ALL"},
			KeySchema: []types.KeySchemaElement{{AttributeName: ptr("gsi1pk"), KeyType: "HASH"}, {AttributeName: ptr("gsi1sk"), KeyType: "RANGE"}}}},
		StreamSpecification: &types.StreamSpecification{StreamEnabled: ptr(true), StreamViewType: "NEW_AND_OLD_IMAGES"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		_, err := db.PutItem(ctx, &dynamodb.PutItemInput{TableName: ptr("table"), Item: map[string]types.AttributeValue{"pk": str("a"), "sk": str(string(rune('a' + i))), "gsi1pk": str("g"), "gsi1sk": str("x")},
			ConditionExpression: ptr("attribute_not_exists(pk)"), ReturnConsumedCapacity: "INDEXES"})
		if err != nil {
			t.Fatal(err)
		}
	}
	q, err := db.Query(ctx, &dynamodb.QueryInput{TableName: ptr("table"), IndexName: ptr("gsi1"), KeyConditionExpression: ptr("gsi1pk = :g"), ExpressionAttributeValues: map[string]types.AttributeValue{":g": str("g")}, Limit: ptr(int32(4))})
	if err != nil || q.Count != 4 || len(q.LastEvaluatedKey) != 4 {
		t.Fatal(q, err)
	}
	ls, err := db.ListStreams(ctx, &dynamodbstreams.ListStreamsInput{})
	if err != nil {
		t.Fatal(err)
	}
	ds, err := db.DescribeStream(ctx, &dynamodbstreams.DescribeStreamInput{StreamArn: ls.Streams[0].StreamArn})
	if err != nil {
		t.Fatal(err)
	}
	it, err := db.GetShardIterator(ctx, &dynamodbstreams.GetShardIteratorInput{StreamArn: ls.Streams[0].StreamArn, ShardId: ds.StreamDescription.Shards[0].ShardId, ShardIteratorType: streamtypes.ShardIteratorTypeTrimHorizon})
	if err != nil {
		t.Fatal(err)
	}
	r, err := db.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: it.ShardIterator})
	if err != nil || len(r.Records) != 10 {
		t.Fatal(r, err)
	}
}
