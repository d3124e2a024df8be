package dynamohttp_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/dynamo/dynamohttp"
	"github.com/onefold/onefold/dynamo/dynamotest"
	"github.com/onefold/onefold/engine"
)

const (
	testRegion = "us-east-1"
	testID     = "AKIDEXAMPLE"
	testSecret = "a secret/+"
)

// TestConformance runs the suite against the engine behind the protocol, with the SDK's own
// clients: over a socket with verified signatures, and without a socket.
func TestConformance(t *testing.T) {
	t.Run("socket", func(t *testing.T) {
		dynamotest.Run(t, func(t *testing.T) (dynamo.API, dynamo.Streams) {
			server := serve(t, open(t), dynamohttp.Options{Keys: map[string]string{testID: testSecret}})
			return clients(http.DefaultClient, server.URL)
		}, nil)
	})
	t.Run("in process", func(t *testing.T) {
		dynamotest.Run(t, func(t *testing.T) (dynamo.API, dynamo.Streams) {
			return clients(dynamohttp.NewDoer(open(t)), "")
		}, nil)
	})
}

// open returns an empty database in memory.
func open(t testing.TB) *engine.DB {
	t.Helper()
	db, err := engine.OpenMemory(engine.Options{TTLInterval: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// serve starts a server on a loopback socket.
func serve(t testing.TB, b dynamohttp.Backend, o dynamohttp.Options) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(newHandler(t, b, o))
	t.Cleanup(server.Close)
	return server
}

func newHandler(t testing.TB, b dynamohttp.Backend, o dynamohttp.Options) *dynamohttp.Handler {
	t.Helper()
	h, err := dynamohttp.New(b, o)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// clients returns unmodified clients of the SDK. Without an endpoint they use DynamoDB's default
// endpoint.
func clients(doer dynamodb.HTTPClient, endpoint string) (*dynamodb.Client, *dynamodbstreams.Client) {
	credentials := aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{AccessKeyID: testID, SecretAccessKey: testSecret, SessionToken: "any"}, nil
	})
	var base *string
	if endpoint != "" {
		base = aws.String(endpoint)
	}
	return dynamodb.New(dynamodb.Options{Region: testRegion, Credentials: credentials, BaseEndpoint: base, HTTPClient: doer, Retryer: aws.NopRetryer{}}),
		dynamodbstreams.New(dynamodbstreams.Options{Region: testRegion, Credentials: credentials, BaseEndpoint: base, HTTPClient: doer, Retryer: aws.NopRetryer{}})
}
