package engine

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/engine/internal/catalog"
	"github.com/onefold/onefold/engine/internal/partiql"
)

var _ dynamo.Statements = (*DB)(nil)

// ExecuteStatement runs one PartiQL statement. A SELECT returns a page and a NextToken for the next
// one.
func (db *DB) ExecuteStatement(ctx context.Context, in *dynamodb.ExecuteStatementInput, _ ...func(*dynamodb.Options)) (*dynamodb.ExecuteStatementOutput, error) {
	call, err := begin(ctx, db, &in)
	if err != nil {
		return nil, err
	}
	defer call.End()
	return db.statements().Execute(ctx, in)
}

// BatchExecuteStatement runs up to 25 PartiQL statements independently of each other.
func (db *DB) BatchExecuteStatement(ctx context.Context, in *dynamodb.BatchExecuteStatementInput, _ ...func(*dynamodb.Options)) (*dynamodb.BatchExecuteStatementOutput, error) {
	call, err := begin(ctx, db, &in)
	if err != nil {
		return nil, err
	}
	defer call.End()
	return db.statements().Batch(ctx, in)
}

// ExecuteTransaction runs up to 100 PartiQL statements, all of them or none.
func (db *DB) ExecuteTransaction(ctx context.Context, in *dynamodb.ExecuteTransactionInput, _ ...func(*dynamodb.Options)) (*dynamodb.ExecuteTransactionOutput, error) {
	call, err := begin(ctx, db, &in)
	if err != nil {
		return nil, err
	}
	defer call.End()
	return db.statements().Transact(ctx, in)
}

func (db *DB) statements() *partiql.Runner {
	return &partiql.Runner{Store: statementStore{db}, Parser: db.parser}
}

// statementStore is the interface of the database for statements.
type statementStore struct{ *DB }

// Query allows a filter to name key attributes.
func (s statementStore) Query(ctx context.Context, in *dynamodb.QueryInput, _ ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	return s.query(ctx, in, true, nil)
}

// Table returns a table's descriptor.
func (s statementStore) Table(name string) (*catalog.Table, error) {
	t, err := s.schemaOf(&name)
	if err != nil {
		return nil, err
	}
	return t.desc, nil
}
