package iamtest

import (
	"context"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
)

// CreateTable implements dynamo.Tables.
func (g *Guard) CreateTable(ctx context.Context, in *dynamodb.CreateTableInput, o ...func(*dynamodb.Options)) (*dynamodb.CreateTableOutput, error) {
	if err := g.demand("CreateTable", g.arn(in.TableName), nil); err != nil {
		return nil, err
	}
	return g.Backend.CreateTable(ctx, in, o...)
}

// DescribeTable implements dynamo.Tables.
func (g *Guard) DescribeTable(ctx context.Context, in *dynamodb.DescribeTableInput, o ...func(*dynamodb.Options)) (*dynamodb.DescribeTableOutput, error) {
	if err := g.demand("DescribeTable", g.arn(in.TableName), nil); err != nil {
		return nil, err
	}
	return g.Backend.DescribeTable(ctx, in, o...)
}

// UpdateTable implements dynamo.Tables.
func (g *Guard) UpdateTable(ctx context.Context, in *dynamodb.UpdateTableInput, o ...func(*dynamodb.Options)) (*dynamodb.UpdateTableOutput, error) {
	if err := g.demand("UpdateTable", g.arn(in.TableName), nil); err != nil {
		return nil, err
	}
	return g.Backend.UpdateTable(ctx, in, o...)
}

// DeleteTable implements dynamo.Tables.
func (g *Guard) DeleteTable(ctx context.Context, in *dynamodb.DeleteTableInput, o ...func(*dynamodb.Options)) (*dynamodb.DeleteTableOutput, error) {
	if err := g.demand("DeleteTable", g.arn(in.TableName), nil); err != nil {
		return nil, err
	}
	return g.Backend.DeleteTable(ctx, in, o...)
}

// ListTables implements dynamo.Tables. AWS has no resource for it.
func (g *Guard) ListTables(ctx context.Context, in *dynamodb.ListTablesInput, o ...func(*dynamodb.Options)) (*dynamodb.ListTablesOutput, error) {
	if err := g.demand("ListTables", "*", nil); err != nil {
		return nil, err
	}
	return g.Backend.ListTables(ctx, in, o...)
}

// UpdateTimeToLive implements dynamo.Tables.
func (g *Guard) UpdateTimeToLive(ctx context.Context, in *dynamodb.UpdateTimeToLiveInput, o ...func(*dynamodb.Options)) (*dynamodb.UpdateTimeToLiveOutput, error) {
	if err := g.demand("UpdateTimeToLive", g.arn(in.TableName), nil); err != nil {
		return nil, err
	}
	return g.Backend.UpdateTimeToLive(ctx, in, o...)
}

// DescribeTimeToLive implements dynamo.Tables.
func (g *Guard) DescribeTimeToLive(ctx context.Context, in *dynamodb.DescribeTimeToLiveInput, o ...func(*dynamodb.Options)) (*dynamodb.DescribeTimeToLiveOutput, error) {
	if err := g.demand("DescribeTimeToLive", g.arn(in.TableName), nil); err != nil {
		return nil, err
	}
	return g.Backend.DescribeTimeToLive(ctx, in, o...)
}

// stream returns the ARN of the table of a stream, with the account and Region of the Guard.
func (g *Guard) stream(arn *string) string {
	_, after, _ := strings.Cut(aws.ToString(arn), ":table/")
	name, label, _ := strings.Cut(after, "/stream/")
	return g.arn(&name) + "/stream/" + label
}

// ListStreams implements dynamo.Streams.
func (g *Guard) ListStreams(ctx context.Context, in *dynamodbstreams.ListStreamsInput, o ...func(*dynamodbstreams.Options)) (*dynamodbstreams.ListStreamsOutput, error) {
	if err := g.demand("ListStreams", g.arn(in.TableName)+"/stream/*", nil); err != nil {
		return nil, err
	}
	return g.Backend.ListStreams(ctx, in, o...)
}

// DescribeStream implements dynamo.Streams.
func (g *Guard) DescribeStream(ctx context.Context, in *dynamodbstreams.DescribeStreamInput, o ...func(*dynamodbstreams.Options)) (*dynamodbstreams.DescribeStreamOutput, error) {
	if err := g.demand("DescribeStream", g.stream(in.StreamArn), nil); err != nil {
		return nil, err
	}
	return g.Backend.DescribeStream(ctx, in, o...)
}

// GetShardIterator implements dynamo.Streams.
func (g *Guard) GetShardIterator(ctx context.Context, in *dynamodbstreams.GetShardIteratorInput, o ...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetShardIteratorOutput, error) {
	if err := g.demand("GetShardIterator", g.stream(in.StreamArn), nil); err != nil {
		return nil, err
	}
	out, err := g.Backend.GetShardIterator(ctx, in, o...)
	if err == nil {
		g.remember(out.ShardIterator, g.stream(in.StreamArn))
	}
	return out, err
}

// remember notes the stream of an iterator. In AWS iterators begin with it.
func (g *Guard) remember(iterator *string, stream string) {
	if iterator != nil {
		g.iterators.Store(*iterator, stream)
	}
}

// GetRecords implements dynamo.Streams.
func (g *Guard) GetRecords(ctx context.Context, in *dynamodbstreams.GetRecordsInput, o ...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetRecordsOutput, error) {
	stream, _ := g.iterators.Load(aws.ToString(in.ShardIterator))
	arn, _ := stream.(string)
	if err := g.demand("GetRecords", arn, nil); err != nil {
		return nil, err
	}
	out, err := g.Backend.GetRecords(ctx, in, o...)
	if err == nil {
		g.remember(out.NextShardIterator, arn)
	}
	return out, err
}
