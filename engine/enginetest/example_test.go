package enginetest_test

import (
	"fmt"
	"log"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/engine/enginetest"
)

// T stands for the *testing.T of a test.
type T struct{ cleanup []func() }

func (t *T) Helper()                      {}
func (t *T) Errorf(f string, args ...any) { log.Printf(f, args...) }
func (t *T) Fatalf(f string, args ...any) { log.Fatalf(f, args...) }
func (t *T) Cleanup(f func())             { t.cleanup = append(t.cleanup, f) }
func (t *T) end() {
	for _, f := range t.cleanup {
		f()
	}
}

// visits creates a table of counters with an expiry attribute.
func visits(db dynamo.API) {
	_, err := db.CreateTable(ctx, &dynamodb.CreateTableInput{TableName: ptr("visits"), BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: ptr("page"), AttributeType: types.ScalarAttributeTypeS}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: ptr("page"), KeyType: types.KeyTypeHash}}})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := db.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{TableName: ptr("visits"),
		TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: ptr("until"), Enabled: ptr(true)}}); err != nil {
		log.Fatal(err)
	}
}

// count is the code under test. It counts a visit and retries when it is throttled.
func count(db dynamo.Items, page string) (tries int, err error) {
	for tries = 1; ; tries++ {
		_, err = db.UpdateItem(ctx, &dynamodb.UpdateItemInput{TableName: ptr("visits"), Key: item{"page": str(page)},
			UpdateExpression: ptr("ADD visits :one"), ExpressionAttributeValues: item{":one": &types.AttributeValueMemberN{Value: "1"}}})
		if !dynamo.IsThrottle(err) || tries == 5 {
			return tries, err
		}
	}
}

// This example injects the fault that the code under test must survive.
func ExampleDB_Inject() {
	t := new(T) // the test's own
	defer t.end()
	db := enginetest.New(t)
	visits(db)
	db.Inject(enginetest.Fault{Effect: enginetest.Throttle, Key: item{"page": str("/home")}, Nth: 1})
	fmt.Println(count(db.Client(), "/home"))
	fmt.Println(count(db.Client(), "/home"))
	// Output:
	// 2 <nil>
	// 1 <nil>
}

// Nothing waits for real time. The test moves the clock.
func ExampleDB_Advance() {
	t := new(T) // the test's own
	defer t.end()
	db := enginetest.New(t, enginetest.At(time.Date(2026, 4, 20, 14, 0, 0, 0, time.UTC)))
	visits(db)
	_, err := db.PutItem(ctx, &dynamodb.PutItemInput{TableName: ptr("visits"), Item: item{"page": str("/home"),
		"until": &types.AttributeValueMemberN{Value: fmt.Sprint(db.Now().Add(time.Hour).Unix())}}})
	if err != nil {
		log.Fatal(err)
	}
	for range 2 {
		out, err := db.Scan(ctx, &dynamodb.ScanInput{TableName: ptr("visits")})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(db.Now().Format(time.TimeOnly), out.Count)
		db.Advance(2 * time.Hour)
	}
	// Output:
	// 14:00:00 1
	// 16:00:00 0
}
