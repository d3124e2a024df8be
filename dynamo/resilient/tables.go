package resilient

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// control describes a request about tables. If a request that changes a table may have taken
// effect, it is not repeated: the response would be that the table is being changed.
func (s *Store) control(op string, once bool) request {
	return request{op: op, takes: s.o.Control, bytes: oneItem, once: once}
}

// CreateTable implements dynamo.Tables.
func (s *Store) CreateTable(ctx context.Context, in *dynamodb.CreateTableInput, o ...func(*dynamodb.Options)) (*dynamodb.CreateTableOutput, error) {
	return do(ctx, s.sender, s.control("CreateTable", true), func(ctx context.Context) (*dynamodb.CreateTableOutput, error) {
		return s.inner.CreateTable(ctx, in, o...)
	})
}

// DescribeTable implements dynamo.Tables.
func (s *Store) DescribeTable(ctx context.Context, in *dynamodb.DescribeTableInput, o ...func(*dynamodb.Options)) (*dynamodb.DescribeTableOutput, error) {
	return do(ctx, s.sender, s.control("DescribeTable", false), func(ctx context.Context) (*dynamodb.DescribeTableOutput, error) {
		return s.inner.DescribeTable(ctx, in, o...)
	})
}

// UpdateTable implements dynamo.Tables.
func (s *Store) UpdateTable(ctx context.Context, in *dynamodb.UpdateTableInput, o ...func(*dynamodb.Options)) (*dynamodb.UpdateTableOutput, error) {
	return do(ctx, s.sender, s.control("UpdateTable", true), func(ctx context.Context) (*dynamodb.UpdateTableOutput, error) {
		return s.inner.UpdateTable(ctx, in, o...)
	})
}

// DeleteTable implements dynamo.Tables.
func (s *Store) DeleteTable(ctx context.Context, in *dynamodb.DeleteTableInput, o ...func(*dynamodb.Options)) (*dynamodb.DeleteTableOutput, error) {
	return do(ctx, s.sender, s.control("DeleteTable", true), func(ctx context.Context) (*dynamodb.DeleteTableOutput, error) {
		return s.inner.DeleteTable(ctx, in, o...)
	})
}

// ListTables implements dynamo.Tables.
func (s *Store) ListTables(ctx context.Context, in *dynamodb.ListTablesInput, o ...func(*dynamodb.Options)) (*dynamodb.ListTablesOutput, error) {
	return do(ctx, s.sender, s.control("ListTables", false), func(ctx context.Context) (*dynamodb.ListTablesOutput, error) {
		return s.inner.ListTables(ctx, in, o...)
	})
}

// UpdateTimeToLive implements dynamo.Tables.
func (s *Store) UpdateTimeToLive(ctx context.Context, in *dynamodb.UpdateTimeToLiveInput, o ...func(*dynamodb.Options)) (*dynamodb.UpdateTimeToLiveOutput, error) {
	return do(ctx, s.sender, s.control("UpdateTimeToLive", true), func(ctx context.Context) (*dynamodb.UpdateTimeToLiveOutput, error) {
		return s.inner.UpdateTimeToLive(ctx, in, o...)
	})
}

// DescribeTimeToLive implements dynamo.Tables.
func (s *Store) DescribeTimeToLive(ctx context.Context, in *dynamodb.DescribeTimeToLiveInput, o ...func(*dynamodb.Options)) (*dynamodb.DescribeTimeToLiveOutput, error) {
	return do(ctx, s.sender, s.control("DescribeTimeToLive", false), func(ctx context.Context) (*dynamodb.DescribeTimeToLiveOutput, error) {
		return s.inner.DescribeTimeToLive(ctx, in, o...)
	})
}
