package dynamotest_test

import (
	"cmp"
	"context"
	"os"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/dynamo/dynamotest"
)

// TestEndpoint runs the suite against the service at ONEFOLD_TEST_ENDPOINT. The service must have
// no tables, so that the tables that are deleted afterwards are the suite's own.
func TestEndpoint(t *testing.T) {
	endpoint := os.Getenv("ONEFOLD_TEST_ENDPOINT")
	if endpoint == "" {
		t.Skip("an endpoint to test is missing: start a DynamoDB without tables, such as `onefold dynamodb --memory`, and set ONEFOLD_TEST_ENDPOINT to its URL")
	}
	dynamotest.Run(t, func(t *testing.T) (dynamo.API, dynamo.Streams) {
		return openEndpoint(t, endpoint), streamsClient(cmp.Or(os.Getenv("ONEFOLD_TEST_STREAMS_ENDPOINT"), endpoint))
	}, nil)
}

// openEndpoint returns a client of an endpoint that has no tables. At the end it deletes the tables
// that then exist.
func openEndpoint(t *testing.T, endpoint string) *dynamodb.Client {
	t.Helper()
	client := dynamodb.New(dynamodb.Options{Region: region(), Credentials: credentials(), BaseEndpoint: &endpoint, Retryer: aws.NopRetryer{}})
	if tables := tablesOf(t, client); len(tables) > 0 {
		t.Fatalf("%s has tables already (%s, ...); the suite wants an endpoint without", endpoint, tables[0])
	}
	t.Cleanup(func() {
		for _, name := range tablesOf(t, client) {
			if _, err := client.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: &name}); err != nil {
				t.Errorf("delete %s: %v", name, err)
				continue
			}
			waiter := dynamodb.NewTableNotExistsWaiter(client, func(o *dynamodb.TableNotExistsWaiterOptions) { o.MinDelay, o.MaxDelay = minDelay, maxDelay })
			if err := waiter.Wait(context.Background(), &dynamodb.DescribeTableInput{TableName: &name}, patience); err != nil {
				t.Errorf("delete %s: %v", name, err)
			}
		}
	})
	return client
}

func tablesOf(t *testing.T, client *dynamodb.Client) []string {
	t.Helper()
	out, err := client.ListTables(context.Background(), &dynamodb.ListTablesInput{})
	if err != nil {
		t.Fatal(err)
	}
	return out.TableNames
}

func streamsClient(endpoint string) *dynamodbstreams.Client {
	return dynamodbstreams.New(dynamodbstreams.Options{Region: region(), Credentials: credentials(), BaseEndpoint: &endpoint, Retryer: aws.NopRetryer{}})
}

func region() string { return cmp.Or(os.Getenv("AWS_REGION"), "us-east-1") }

func credentials() aws.CredentialsProvider {
	return aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{
			AccessKeyID: cmp.Or(os.Getenv("AWS_ACCESS_KEY_ID"), "any"), SecretAccessKey: cmp.Or(os.Getenv("AWS_SECRET_ACCESS_KEY"), "any"),
			SessionToken: os.Getenv("AWS_SESSION_TOKEN"),
		}, nil
	})
}
