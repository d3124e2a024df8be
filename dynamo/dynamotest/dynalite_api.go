package dynamotest

import (
	"context"
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/dynamo"
)

// Dynalite starts dynalite and returns a client, as a third-party API for suites about items.
// Dynalite has no streams, expiry or transactions. Requests for streams and expiry in table
// definitions are ignored, so that such tables can be created. It skips the test under the same
// conditions as StartDynalite.
func Dynalite(t *testing.T) dynamo.API {
	t.Helper()
	endpoint := StartDynalite(t)
	connections := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(connections.CloseIdleConnections)
	return &dynalite{API: dynamodb.New(dynamodb.Options{
		Region: "us-east-1", BaseEndpoint: &endpoint, HTTPClient: connections,
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "any", SecretAccessKey: "any"}, nil
		}),
	})}
}

// dynalite pretends to support features that dynalite lacks.
type dynalite struct {
	dynamo.API
}

// CreateTable creates a table without a stream.
func (d *dynalite) CreateTable(ctx context.Context, in *dynamodb.CreateTableInput, o ...func(*dynamodb.Options)) (*dynamodb.CreateTableOutput, error) {
	without := *in
	without.StreamSpecification, without.DeletionProtectionEnabled = nil, nil
	return d.API.CreateTable(ctx, &without, o...)
}

// DescribeTable reports that there is a stream.
func (d *dynalite) DescribeTable(ctx context.Context, in *dynamodb.DescribeTableInput, o ...func(*dynamodb.Options)) (*dynamodb.DescribeTableOutput, error) {
	out, err := d.API.DescribeTable(ctx, in, o...)
	if err == nil {
		out.Table.StreamSpecification = &types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeNewAndOldImages}
	}
	return out, err
}

// DescribeTimeToLive reports that expiry is disabled.
func (*dynalite) DescribeTimeToLive(context.Context, *dynamodb.DescribeTimeToLiveInput, ...func(*dynamodb.Options)) (*dynamodb.DescribeTimeToLiveOutput, error) {
	return &dynamodb.DescribeTimeToLiveOutput{}, nil
}

// UpdateTimeToLive does nothing.
func (*dynalite) UpdateTimeToLive(context.Context, *dynamodb.UpdateTimeToLiveInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateTimeToLiveOutput, error) {
	return &dynamodb.UpdateTimeToLiveOutput{}, nil
}
