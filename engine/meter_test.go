package engine_test

import (
	"context"
	"fmt"
	"reflect"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/engine"
)

// TestMeteredPrefixes sends one request of each kind and checks under which prefix its units are
// counted. The prefixes must add up to the table and its indexes.
func TestMeteredPrefixes(t *testing.T) {
	ctx := context.Background()
	db := memory(t, engine.Options{Clock: newClock().now})
	must[*dynamodb.CreateTableOutput](t)(db.CreateTable(ctx, tableInput("table")))
	a, b := item{"pk": str("A#1"), "sk": str("x")}, item{"pk": str("B#1"), "sk": str("x")}
	name := ptr("table")
	putItem(t, db, "table", item{"pk": str("A#1"), "sk": str("x"), "gsi1pk": str("G#1"), "gsi1sk": str("1")})
	must[*dynamodb.BatchWriteItemOutput](t)(db.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{"table": {
		{PutRequest: &types.PutRequest{Item: b}}, {DeleteRequest: &types.DeleteRequest{Key: item{"pk": str("C#1"), "sk": str("x")}}}}}}))
	token := &dynamodb.TransactWriteItemsInput{ClientRequestToken: ptr("token"), TransactItems: []types.TransactWriteItem{
		{ConditionCheck: &types.ConditionCheck{TableName: name, Key: a, ConditionExpression: ptr("attribute_exists(pk)")}},
		{Update: &types.Update{TableName: name, Key: b, UpdateExpression: ptr("SET v = :v"), ExpressionAttributeValues: item{":v": str("1")}}}}}
	must[*dynamodb.TransactWriteItemsOutput](t)(db.TransactWriteItems(ctx, token))
	must[*dynamodb.TransactWriteItemsOutput](t)(db.TransactWriteItems(ctx, token)) // costs the same as reads
	if _, err := db.PutItem(ctx, &dynamodb.PutItemInput{TableName: name, Item: a, ConditionExpression: ptr("attribute_not_exists(pk)")}); err == nil {
		t.Fatal("the condition should fail")
	}
	must[*dynamodb.BatchGetItemOutput](t)(db.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{"table": {Keys: []map[string]types.AttributeValue{a, b}}}}))
	must[*dynamodb.TransactGetItemsOutput](t)(db.TransactGetItems(ctx, &dynamodb.TransactGetItemsInput{TransactItems: []types.TransactGetItem{{Get: &types.Get{TableName: name, Key: a}}}}))
	query := func(index *string, attr, value string) {
		must[*dynamodb.QueryOutput](t)(db.Query(ctx, &dynamodb.QueryInput{TableName: name, IndexName: index, KeyConditionExpression: ptr(attr + " = :k"), ExpressionAttributeValues: item{":k": str(value)}}))
	}
	query(nil, "pk", "A#1")
	query(ptr("gsi1"), "gsi1pk", "G#1")
	must[*dynamodb.ScanOutput](t)(db.Scan(ctx, &dynamodb.ScanInput{TableName: name}))
	must[*dynamodb.ScanOutput](t)(db.Scan(ctx, &dynamodb.ScanInput{TableName: name, IndexName: ptr("gsi1"), Segment: ptr(int32(1)), TotalSegments: ptr(int32(2))}))

	got := db.Metered().Tables["table"]
	want := map[string]engine.Use{
		"A#":              {ReadUnits: 2 + 0.5 + 2 + 0.5, Reads: 4, WriteUnits: 2 + 2 + 1, Writes: 3},
		"B#":              {ReadUnits: 2 + 0.5, Reads: 2, WriteUnits: 1 + 2, Writes: 2},
		"C#":              {WriteUnits: 1, Writes: 1},
		"G#":              {ReadUnits: 0.5, Reads: 1},
		engine.ScanPrefix: {ReadUnits: 1, Reads: 2},
	}
	if !reflect.DeepEqual(got.Prefixes, want) {
		t.Errorf("got %+v\nwant %+v", got.Prefixes, want)
	}
	var sum, whole engine.Use
	for _, u := range got.Prefixes {
		sum.ReadUnits, sum.WriteUnits = sum.ReadUnits+u.ReadUnits, sum.WriteUnits+u.WriteUnits
	}
	for _, u := range []engine.Use{got.Use, got.Indexes["gsi1"]} {
		whole.ReadUnits, whole.WriteUnits = whole.ReadUnits+u.ReadUnits, whole.WriteUnits+u.WriteUnits
	}
	if sum != whole {
		t.Errorf("the prefixes have %+v, table and index %+v", sum, whole)
	}
	hottest := map[string]int{}
	for i, k := range got.Hottest {
		hottest[fmt.Sprint(k.Key, " of ", k.Index)] = i + 1
	}
	if len(hottest) != 4 || hottest["A#1 of "] != 1 || hottest["G#1 of gsi1"] != 3 {
		t.Errorf("hottest keys: %+v", got.Hottest)
	}
}

func TestKeyPrefixOption(t *testing.T) {
	db := memory(t, engine.Options{KeyPrefix: func(key string) string { return key[:1] }})
	must[*dynamodb.CreateTableOutput](t)(db.CreateTable(context.Background(), tableInput("table")))
	for _, key := range []string{"ab", "ac", "b"} {
		putItem(t, db, "table", item{"pk": str(key), "sk": str("x")})
	}
	got := db.Metered().Tables["table"].Prefixes
	if len(got) != 2 || got["a"].Writes != 2 || got["b"].Writes != 1 {
		t.Errorf("got %+v", got)
	}
}
