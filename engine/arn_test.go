package engine_test

import (
	"context"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"github.com/onefold/onefold/engine"
)

// TestTableARNs passes a table's ARN wherever a request takes a table name.
func TestTableARNs(t *testing.T) {
	ctx, db := context.Background(), memory(t, engine.Options{})
	arn := ptr("arn:aws:dynamodb:us-east-1:000000000000:table/table")
	in := tableInput("table")
	in.TableName = arn
	must[*dynamodb.CreateTableOutput](t)(db.CreateTable(ctx, in))
	it, key := item{"pk": str("a"), "sk": str("b"), "n": num("1")}, item{"pk": str("a"), "sk": str("b")}
	check := func(what string, n int, err error) {
		t.Helper()
		if err != nil || n != 1 {
			t.Errorf("%s: %d items, %v", what, n, err)
		}
	}
	_, err := db.PutItem(ctx, &dynamodb.PutItemInput{TableName: arn, Item: it})
	check("PutItem", 1, err)
	_, err = db.UpdateItem(ctx, &dynamodb.UpdateItemInput{TableName: arn, Key: key, UpdateExpression: ptr("ADD n :n"), ExpressionAttributeValues: item{":n": num("1")}})
	check("UpdateItem", 1, err)
	_, err = db.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{*arn: {{PutRequest: &types.PutRequest{Item: it}}}}})
	check("BatchWriteItem", 1, err)
	_, err = db.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{{Put: &types.Put{TableName: arn, Item: it}}}})
	check("TransactWriteItems", 1, err)
	check("PutItems", 1, db.PutItems(ctx, []*dynamodb.PutItemInput{{TableName: arn, Item: it}})[0])
	get, err := db.GetItem(ctx, &dynamodb.GetItemInput{TableName: arn, Key: key})
	check("GetItem", len(get.Item)-2, err)
	gets, err := db.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{*arn: {Keys: []map[string]types.AttributeValue{key}}}})
	check("BatchGetItem", len(gets.Responses[*arn]), err)
	transact, err := db.TransactGetItems(ctx, &dynamodb.TransactGetItemsInput{TransactItems: []types.TransactGetItem{{Get: &types.Get{TableName: arn, Key: key}}}})
	check("TransactGetItems", len(transact.Responses), err)
	query, err := db.Query(ctx, &dynamodb.QueryInput{TableName: arn, KeyConditionExpression: ptr("pk = :p"), ExpressionAttributeValues: item{":p": str("a")}})
	check("Query", len(query.Items), err)
	scan, err := db.Scan(ctx, &dynamodb.ScanInput{TableName: arn})
	check("Scan", len(scan.Items), err)
	described, err := db.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: arn})
	check("DescribeTable", int(*described.Table.ItemCount), err)
	_, err = db.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: arn})
	check("DescribeTimeToLive", 1, err)
	streams, err := db.ListStreams(ctx, &dynamodbstreams.ListStreamsInput{TableName: arn})
	check("ListStreams", len(streams.Streams), err)
	_, err = db.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: arn, Key: key})
	check("DeleteItem", 1, err)
	_, err = db.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: arn})
	check("DeleteTable", 1, err)
}
