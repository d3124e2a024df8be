package engine_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/dynamo/dynamohttp"
	"github.com/onefold/onefold/engine"
)

// makeBooks creates a table of books by author and title.
func makeBooks(db dynamo.Tables) error {
	attr := func(name string) types.AttributeDefinition {
		return types.AttributeDefinition{AttributeName: &name, AttributeType: types.ScalarAttributeTypeS}
	}
	_, err := db.CreateTable(context.Background(), &dynamodb.CreateTableInput{
		TableName: aws.String("books"), BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{attr("author"), attr("title")},
		KeySchema: []types.KeySchemaElement{{AttributeName: aws.String("author"), KeyType: types.KeyTypeHash},
			{AttributeName: aws.String("title"), KeyType: types.KeyTypeRange}},
	})
	return err
}

func putBook(db dynamo.Items, author, title string) error {
	_, err := db.PutItem(context.Background(), &dynamodb.PutItemInput{TableName: aws.String("books"), Item: map[string]types.AttributeValue{
		"author": &types.AttributeValueMemberS{Value: author}, "title": &types.AttributeValueMemberS{Value: title}}})
	return err
}

// titles returns the titles of an author that begin with a prefix, in order.
func titles(db dynamo.Items, author, prefix string) (list []string, err error) {
	out, err := db.Query(context.Background(), &dynamodb.QueryInput{TableName: aws.String("books"),
		KeyConditionExpression: aws.String("author = :a AND begins_with(title, :t)"),
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":a": &types.AttributeValueMemberS{Value: author}, ":t": &types.AttributeValueMemberS{Value: prefix}}})
	if err != nil {
		return nil, err
	}
	for _, it := range out.Items {
		list = append(list, it["title"].(*types.AttributeValueMemberS).Value)
	}
	return list, nil
}

// A database in a directory keeps every acknowledged write, whatever happens to the process.
func ExampleOpen() {
	dir, err := os.MkdirTemp("", "books")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	db, err := engine.Open(dir, engine.Options{})
	if err != nil {
		log.Fatal(err)
	}
	if err := makeBooks(db); err != nil {
		log.Fatal(err)
	}
	if err := putBook(db, "Le Guin", "The Dispossessed"); err != nil {
		log.Fatal(err)
	}
	if err := db.Close(); err != nil {
		log.Fatal(err)
	}
	if db, err = engine.Open(dir, engine.Options{}); err != nil {
		log.Fatal(err)
	}
	fmt.Println(titles(db, "Le Guin", "The"))
	if err := db.Close(); err != nil {
		log.Fatal(err)
	}
	// Output: [The Dispossessed] <nil>
}

// A database in memory is empty when it is opened, and its contents are gone when it is closed. Use
// package enginetest in tests.
func ExampleOpenMemory() {
	db, err := engine.OpenMemory(engine.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	if err := makeBooks(db); err != nil {
		log.Fatal(err)
	}
	for _, title := range []string{"Ubik", "The Man in the High Castle", "The Three Stigmata"} {
		if err := putBook(db, "Dick", title); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println(titles(db, "Dick", "The"))
	// Output: [The Man in the High Castle The Three Stigmata] <nil>
}

// An unchanged SDK client calls the database without a socket. It needs credentials, but the engine
// does not check them.
func Example_client() {
	db, err := engine.OpenMemory(engine.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	client := dynamodb.New(dynamodb.Options{
		Region: "us-east-1", HTTPClient: dynamohttp.NewDoer(db),
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "any", SecretAccessKey: "any"}, nil
		}),
	})
	if err := makeBooks(client); err != nil {
		log.Fatal(err)
	}
	if err := putBook(client, "Lem", "Solaris"); err != nil {
		log.Fatal(err)
	}
	fmt.Println(titles(client, "Lem", "S"))
	out, err := client.ListTables(context.Background(), &dynamodb.ListTablesInput{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(out.TableNames)
	// Output:
	// [Solaris] <nil>
	// [books]
}
