package enginetest

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"github.com/onefold/onefold/dynamo"
)

// CreateTable calls the engine unless a fault occurs.
func (db *DB) CreateTable(ctx context.Context, in *dynamodb.CreateTableInput, _ ...func(*dynamodb.Options)) (*dynamodb.CreateTableOutput, error) {
	in = given(in)
	return answer(db, func() (*dynamodb.CreateTableOutput, error) { return db.DB.CreateTable(ctx, in) }, Access{"CreateTable", tableOf(in.TableName), nil, true})
}

// DescribeTable calls the engine unless a fault occurs.
func (db *DB) DescribeTable(ctx context.Context, in *dynamodb.DescribeTableInput, _ ...func(*dynamodb.Options)) (*dynamodb.DescribeTableOutput, error) {
	in = given(in)
	return answer(db, func() (*dynamodb.DescribeTableOutput, error) { return db.DB.DescribeTable(ctx, in) }, Access{"DescribeTable", tableOf(in.TableName), nil, false})
}

// UpdateTable calls the engine unless a fault occurs.
func (db *DB) UpdateTable(ctx context.Context, in *dynamodb.UpdateTableInput, _ ...func(*dynamodb.Options)) (*dynamodb.UpdateTableOutput, error) {
	in = given(in)
	return answer(db, func() (*dynamodb.UpdateTableOutput, error) { return db.DB.UpdateTable(ctx, in) }, Access{"UpdateTable", tableOf(in.TableName), nil, true})
}

// DeleteTable calls the engine unless a fault occurs.
func (db *DB) DeleteTable(ctx context.Context, in *dynamodb.DeleteTableInput, _ ...func(*dynamodb.Options)) (*dynamodb.DeleteTableOutput, error) {
	in = given(in)
	return answer(db, func() (*dynamodb.DeleteTableOutput, error) { return db.DB.DeleteTable(ctx, in) }, Access{"DeleteTable", tableOf(in.TableName), nil, true})
}

// ListTables calls the engine unless a fault occurs.
func (db *DB) ListTables(ctx context.Context, in *dynamodb.ListTablesInput, _ ...func(*dynamodb.Options)) (*dynamodb.ListTablesOutput, error) {
	return answer(db, func() (*dynamodb.ListTablesOutput, error) { return db.DB.ListTables(ctx, in) }, Access{Op: "ListTables"})
}

// ExecuteStatement calls the engine unless a fault occurs. Faults with a table or key do not match
// it.
func (db *DB) ExecuteStatement(ctx context.Context, in *dynamodb.ExecuteStatementInput, _ ...func(*dynamodb.Options)) (*dynamodb.ExecuteStatementOutput, error) {
	return answer(db, func() (*dynamodb.ExecuteStatementOutput, error) { return db.DB.ExecuteStatement(ctx, in) }, Access{Op: "ExecuteStatement"})
}

// BatchExecuteStatement calls the engine unless a fault occurs. Faults with a table or key do not
// match it.
func (db *DB) BatchExecuteStatement(ctx context.Context, in *dynamodb.BatchExecuteStatementInput, _ ...func(*dynamodb.Options)) (*dynamodb.BatchExecuteStatementOutput, error) {
	return answer(db, func() (*dynamodb.BatchExecuteStatementOutput, error) { return db.DB.BatchExecuteStatement(ctx, in) }, Access{Op: "BatchExecuteStatement"})
}

// ExecuteTransaction calls the engine unless a fault occurs. Faults with a table or key do not
// match it.
func (db *DB) ExecuteTransaction(ctx context.Context, in *dynamodb.ExecuteTransactionInput, _ ...func(*dynamodb.Options)) (*dynamodb.ExecuteTransactionOutput, error) {
	return answer(db, func() (*dynamodb.ExecuteTransactionOutput, error) { return db.DB.ExecuteTransaction(ctx, in) }, Access{Op: "ExecuteTransaction"})
}

// DescribeStream calls the engine unless a fault occurs.
func (db *DB) DescribeStream(ctx context.Context, in *dynamodbstreams.DescribeStreamInput, _ ...func(*dynamodbstreams.Options)) (*dynamodbstreams.DescribeStreamOutput, error) {
	return answer(db, func() (*dynamodbstreams.DescribeStreamOutput, error) { return db.DB.DescribeStream(ctx, in) }, Access{Op: "DescribeStream"})
}

// GetShardIterator calls the engine unless a fault occurs.
func (db *DB) GetShardIterator(ctx context.Context, in *dynamodbstreams.GetShardIteratorInput, _ ...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetShardIteratorOutput, error) {
	return answer(db, func() (*dynamodbstreams.GetShardIteratorOutput, error) { return db.DB.GetShardIterator(ctx, in) }, Access{Op: "GetShardIterator"})
}

// GetRecords calls the engine unless a fault occurs.
func (db *DB) GetRecords(ctx context.Context, in *dynamodbstreams.GetRecordsInput, _ ...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetRecordsOutput, error) {
	return answer(db, func() (*dynamodbstreams.GetRecordsOutput, error) { return db.DB.GetRecords(ctx, in) }, Access{Op: "GetRecords"})
}

// ReadRecords calls the engine unless a fault of GetRecords occurs.
func (db *DB) ReadRecords(ctx context.Context, in *dynamodbstreams.GetRecordsInput, attribute string, wanted func(string) bool) (*dynamo.RecordPage, error) {
	return answer(db, func() (*dynamo.RecordPage, error) { return db.DB.ReadRecords(ctx, in, attribute, wanted) }, Access{Op: "GetRecords"})
}
