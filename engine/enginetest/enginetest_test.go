package enginetest_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"go.uber.org/goleak"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/dynamo/dynamotest"
	"github.com/onefold/onefold/engine/enginetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type item = map[string]types.AttributeValue

func ptr[T any](v T) *T { return &v }

func str(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

var ctx = context.Background()

// orders creates a table with an index by colour, a stream and an expiry attribute.
func orders(t testing.TB, api dynamo.API) {
	t.Helper()
	attr := func(name string) types.AttributeDefinition {
		return types.AttributeDefinition{AttributeName: &name, AttributeType: types.ScalarAttributeTypeS}
	}
	key := func(name string) []types.KeySchemaElement {
		return []types.KeySchemaElement{{AttributeName: &name, KeyType: types.KeyTypeHash}}
	}
	_, err := api.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName: ptr("orders"), BillingMode: types.BillingModePayPerRequest, AttributeDefinitions: []types.AttributeDefinition{attr("id"), attr("colour")},
		KeySchema: key("id"), StreamSpecification: &types.StreamSpecification{StreamEnabled: ptr(true), StreamViewType: types.StreamViewTypeKeysOnly},
		GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{{IndexName: ptr("byColour"), KeySchema: key("colour"), Projection: &types.Projection{ProjectionType: types.ProjectionTypeAll}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := api.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{TableName: ptr("orders"),
		TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: ptr("ttl"), Enabled: ptr(true)}}); err != nil {
		t.Fatal(err)
	}
}

func put(api dynamo.Items, id string) error {
	_, err := api.PutItem(ctx, &dynamodb.PutItemInput{TableName: ptr("orders"), Item: item{"id": str(id), "colour": str("red")}})
	return err
}

func has(t testing.TB, api dynamo.Items, id string) bool {
	t.Helper()
	out, err := api.GetItem(ctx, &dynamodb.GetItemInput{TableName: ptr("orders"), Key: item{"id": str(id)}})
	if err != nil {
		t.Fatal(err)
	}
	return out.Item != nil
}

// TestConformance runs the shared conformance tests on a database without faults, and on a client
// of one.
func TestConformance(t *testing.T) {
	t.Run("called", func(t *testing.T) {
		dynamotest.Run(t, func(t *testing.T) (dynamo.API, dynamo.Streams) {
			db := enginetest.New(t)
			return db, db
		}, nil)
	})
	t.Run("through clients", func(t *testing.T) {
		dynamotest.Run(t, func(t *testing.T) (dynamo.API, dynamo.Streams) {
			db := enginetest.New(t)
			return db.Client(), db.StreamsClient()
		}, nil)
	})
}

// TestFaults injects each fault in turn and puts the items a, b, a, b… until the fault has fired as
// often as it does in eight puts.
func TestFaults(t *testing.T) {
	for name, c := range map[string]struct {
		fault enginetest.Fault
		code  string
		fails string // the puts that fail
		keeps bool   // the item is stored although the put fails
	}{
		"nth write of a key":  {enginetest.Fault{Effect: enginetest.Throttle, Key: item{"id": str("b")}, Nth: 2}, "ProvisionedThroughputExceededException", "[3]", false},
		"every third":         {enginetest.Fault{Effect: enginetest.Fail, Op: "PutItem", Every: 3}, "InternalServerError", "[2 5]", false},
		"lost":                {enginetest.Fault{Effect: enginetest.LoseAnswer, Nth: 1}, "InternalServerError", "[0]", true},
		"conflict":            {enginetest.Fault{Effect: enginetest.Conflict, Table: "orders", Key: item{"id": str("a")}}, "TransactionConflictException", "[0 2 4 6]", false},
		"another table":       {enginetest.Fault{Effect: enginetest.Fail, Table: "other"}, "", "[]", false},
		"only what one reads": {enginetest.Fault{Effect: enginetest.Throttle, Op: "GetItem"}, "", "[]", false},
		"when": {enginetest.Fault{Effect: enginetest.Throttle, Writes: true, When: func(a enginetest.Access) bool { return a.Item["colour"] != nil && a.Op == "PutItem" }},
			"ProvisionedThroughputExceededException", "[0 1 2 3 4 5 6 7]", false},
	} {
		for how, through := range map[string]func(*enginetest.DB) dynamo.API{
			"called":           func(db *enginetest.DB) dynamo.API { return db },
			"through a client": func(db *enginetest.DB) dynamo.API { return db.Client() },
		} {
			t.Run(name+" "+how, func(t *testing.T) {
				db := enginetest.New(t)
				orders(t, db)
				db.Inject(c.fault)
				failed := []int{}
				for i := range 8 {
					id := string(rune('a' + i%2))
					err := put(through(db), id)
					if err == nil {
						continue
					}
					failed = append(failed, i)
					if dynamo.Code(err) != c.code {
						t.Errorf("put %d: %v, want %s", i, err, c.code)
					}
				}
				if fmt.Sprint(failed) != c.fails || db.Hits() != len(failed) {
					t.Errorf("puts %v failed, %d were hit; want %s", failed, db.Hits(), c.fails)
				}
				db.Heal()
				if c.keeps && !has(t, db, "a") {
					t.Error("the answer was lost, but nothing was put")
				}
			})
		}
	}
}

func TestThrottlingReasons(t *testing.T) {
	db := enginetest.New(t, enginetest.Inject(enginetest.Fault{Effect: enginetest.Throttle, Op: "PutItem"}))
	orders(t, db)
	var e *types.ProvisionedThroughputExceededException
	if err := put(db.Client(), "a"); !errors.As(err, &e) || len(e.ThrottlingReasons) != 1 || *e.ThrottlingReasons[0].Reason != "TableWriteProvisionedThroughputExceeded" {
		t.Errorf("got %v", err)
	}
}

// TestUnprocessed leaves every second item of a batch unprocessed, and repeats the request until no
// item is left.
func TestUnprocessed(t *testing.T) {
	db := enginetest.New(t, enginetest.Inject(enginetest.Fault{Effect: enginetest.Unprocessed, Every: 2}))
	orders(t, db)
	requests := map[string][]types.WriteRequest{}
	keys := map[string]types.KeysAndAttributes{"orders": {}}
	for i := range 10 {
		requests["orders"] = append(requests["orders"], types.WriteRequest{PutRequest: &types.PutRequest{Item: item{"id": str(strconv.Itoa(i))}}})
		keys["orders"] = types.KeysAndAttributes{Keys: append(keys["orders"].Keys, item{"id": str(strconv.Itoa(i))})}
	}
	sizes := []int{}
	for len(requests) > 0 {
		sizes = append(sizes, len(requests["orders"]))
		out, err := db.Client().BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: requests})
		if err != nil {
			t.Fatal(err)
		}
		requests = out.UnprocessedItems
	}
	if got, want := fmt.Sprint(sizes), "[10 5 2 1 1]"; got != want { // the 2nd to 10th, the 12th and 14th, the 16th, the 18th
		t.Errorf("batches of %v, want %s", got, want)
	}
	found := 0
	for len(keys) > 0 {
		out, err := db.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{RequestItems: keys})
		if err != nil {
			t.Fatal(err)
		}
		found, keys = found+len(out.Responses["orders"]), out.UnprocessedKeys
	}
	if found != 10 {
		t.Errorf("found %d of 10", found)
	}
}

// TestThrottledBatch throttles one item of a batch, which is then unprocessed, and then both items,
// which is an error.
func TestThrottledBatch(t *testing.T) {
	db := enginetest.New(t)
	orders(t, db)
	batch := &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{"orders": {
		{PutRequest: &types.PutRequest{Item: item{"id": str("a")}}}, {DeleteRequest: &types.DeleteRequest{Key: item{"id": str("b")}}}}}}
	db.Inject(enginetest.Fault{Effect: enginetest.Throttle, Key: item{"id": str("b")}})
	out, err := db.BatchWriteItem(ctx, batch)
	if err != nil || len(out.UnprocessedItems["orders"]) != 1 || out.UnprocessedItems["orders"][0].DeleteRequest == nil || !has(t, db, "a") {
		t.Errorf("one throttled: %v, %v", out, err)
	}
	db.Inject(enginetest.Fault{Effect: enginetest.Throttle, Key: item{"id": str("a")}})
	if _, err := db.BatchWriteItem(ctx, batch); !dynamo.IsThrottle(err) {
		t.Errorf("both throttled: %v", err)
	}
}

func TestTransactionConflict(t *testing.T) {
	db := enginetest.New(t, enginetest.Inject(enginetest.Fault{Effect: enginetest.Conflict, Key: item{"id": str("b")}, Nth: 1}))
	orders(t, db)
	in := &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
		{Put: &types.Put{TableName: ptr("orders"), Item: item{"id": str("a")}}}, {Put: &types.Put{TableName: ptr("orders"), Item: item{"id": str("b")}}}}}
	_, err := db.Client().TransactWriteItems(ctx, in)
	reasons, ok := dynamo.CancellationReasons(err)
	if !ok || len(reasons) != 2 || *reasons[0].Code != "None" || *reasons[1].Code != "TransactionConflict" || has(t, db, "a") {
		t.Errorf("got %v", err)
	}
	if _, err := db.TransactWriteItems(ctx, in); err != nil || !has(t, db, "a") || !has(t, db, "b") {
		t.Errorf("the second time: %v", err)
	}
}

// TestLostTransaction repeats a transaction whose answer was lost. The token makes that safe.
func TestLostTransaction(t *testing.T) {
	db := enginetest.New(t, enginetest.Inject(enginetest.Fault{Effect: enginetest.LoseAnswer, Op: "TransactWriteItems", Nth: 1}))
	orders(t, db)
	retrying := db.Client(func(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} })
	in := &dynamodb.TransactWriteItemsInput{ClientRequestToken: ptr("token"), TransactItems: []types.TransactWriteItem{
		{Update: &types.Update{TableName: ptr("orders"), Key: item{"id": str("a")}, UpdateExpression: ptr("ADD n :one"), ExpressionAttributeValues: item{":one": &types.AttributeValueMemberN{Value: "1"}}}}}}
	if _, err := retrying.TransactWriteItems(ctx, in); err == nil {
		t.Error("the answer was not lost")
	}
	if _, err := retrying.TransactWriteItems(ctx, in); err != nil {
		t.Error(err)
	}
	out, err := db.GetItem(ctx, &dynamodb.GetItemInput{TableName: ptr("orders"), Key: item{"id": str("a")}})
	if err != nil || out.Item["n"].(*types.AttributeValueMemberN).Value != "1" {
		t.Errorf("%v, %v; want one change", out, err)
	}
}

func TestPutItemsMeetFaults(t *testing.T) {
	db := enginetest.New(t, enginetest.Inject(enginetest.Fault{Effect: enginetest.Fail, Key: item{"id": str("1")}}, enginetest.Fault{Effect: enginetest.LoseAnswer, Key: item{"id": str("2")}}))
	orders(t, db)
	var ins []*dynamodb.PutItemInput
	for i := range 4 {
		ins = append(ins, &dynamodb.PutItemInput{TableName: ptr("orders"), Item: item{"id": str(strconv.Itoa(i))}})
	}
	for i, err := range db.PutItems(ctx, ins) {
		if wrong := i == 1 || i == 2; wrong != (err != nil) {
			t.Errorf("put %d: %v", i, err)
		}
	}
	db.Heal()
	for i, want := range []bool{true, false, true, true} {
		if got := has(t, db, strconv.Itoa(i)); got != want {
			t.Errorf("item %d is there: %v, want %v", i, got, want)
		}
	}
}

// TestTimePasses lets an item expire and makes an index lag behind its table.
func TestTimePasses(t *testing.T) {
	db := enginetest.New(t, enginetest.DelayIndexes(time.Second), enginetest.RollShards(1))
	orders(t, db)
	expires := strconv.FormatInt(db.Now().Add(time.Hour).Unix(), 10)
	if _, err := db.PutItem(ctx, &dynamodb.PutItemInput{TableName: ptr("orders"), Item: item{"id": str("a"), "colour": str("red"), "ttl": &types.AttributeValueMemberN{Value: expires}}}); err != nil {
		t.Fatal(err)
	}
	indexed := func() int {
		out, err := db.Scan(ctx, &dynamodb.ScanInput{TableName: ptr("orders"), IndexName: ptr("byColour")})
		if err != nil {
			t.Fatal(err)
		}
		return int(out.Count)
	}
	if indexed() != 0 {
		t.Error("the index is not late")
	}
	db.Advance(time.Second)
	if indexed() != 1 {
		t.Error("the index is too late")
	}
	db.Advance(time.Hour)
	if has(t, db, "a") {
		t.Error("the item has not expired")
	}
	list, err := db.ListStreams(ctx, &dynamodbstreams.ListStreamsInput{})
	if err != nil {
		t.Fatal(err)
	}
	out, err := db.DescribeStream(ctx, &dynamodbstreams.DescribeStreamInput{StreamArn: list.Streams[0].StreamArn})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(out.StreamDescription.Shards); n != 3 { // the shard of a put, the shard of an expiry, and the open shard
		t.Errorf("%d shards, want 3", n)
	}
}
