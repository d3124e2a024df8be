package dynamohttp_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/dynamo/dynamohttp"
	"github.com/onefold/onefold/engine"
)

// An unmodified client of the SDK runs against the embedded engine, without a socket and without
// AWS.
func ExampleNewDoer() {
	db, err := engine.OpenMemory(engine.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()

	client := dynamodb.New(dynamodb.Options{Region: "us-east-1", HTTPClient: dynamohttp.NewDoer(db)})

	ctx := context.Background()
	if _, err := client.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName: aws.String("Music"), BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("Artist"), AttributeType: types.ScalarAttributeTypeS}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("Artist"), KeyType: types.KeyTypeHash}},
	}); err != nil {
		log.Fatal(err)
	}
	song := map[string]types.AttributeValue{
		"Artist": &types.AttributeValueMemberS{Value: "No One You Know"}, "Awards": &types.AttributeValueMemberN{Value: "1"},
	}
	if _, err := client.PutItem(ctx, &dynamodb.PutItemInput{TableName: aws.String("Music"), Item: song}); err != nil {
		log.Fatal(err)
	}
	out, err := client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: aws.String("Music"), Key: map[string]types.AttributeValue{"Artist": song["Artist"]},
		UpdateExpression: aws.String("ADD Awards :n"), ReturnValues: types.ReturnValueUpdatedNew,
		ExpressionAttributeValues: map[string]types.AttributeValue{":n": &types.AttributeValueMemberN{Value: "2"}},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(out.Attributes["Awards"].(*types.AttributeValueMemberN).Value)
	// Output: 3
}

// A handler serves every SDK and command line tool. If it has keys, it requires signatures made
// with one of them.
func ExampleNew() {
	db, err := engine.OpenMemory(engine.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()

	handler, err := dynamohttp.New(db, dynamohttp.Options{Keys: map[string]string{"AKIDEXAMPLE": "a secret"}})
	if err != nil {
		log.Fatal(err)
	}
	server := httptest.NewServer(handler) // or http.ListenAndServe
	defer server.Close()

	response, err := http.Get(server.URL)
	if err != nil {
		log.Fatal(err)
	}
	defer response.Body.Close()
	fmt.Println(response.Status)
	// Output: 200 OK
}
