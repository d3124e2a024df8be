package engine_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/engine"
)

// closers returns calls of many kinds. Each is repeated until it fails with ErrClosed.
func closers(db *engine.DB) map[string]func(ctx context.Context, n int) error {
	key := func(n int) item { return item{"pk": str(fmt.Sprint(n % 7)), "sk": str(fmt.Sprint(n))} }
	table := ptr("table")
	return map[string]func(context.Context, int) error{
		"put": func(ctx context.Context, n int) error {
			_, err := db.PutItem(ctx, &dynamodb.PutItemInput{TableName: table, Item: item{"pk": str(fmt.Sprint(n % 7)), "sk": str(fmt.Sprint(n)), "gsi1pk": str("g"), "gsi1sk": str("s")}})
			return err
		},
		"put many": func(ctx context.Context, n int) error {
			return errors.Join(db.PutItems(ctx, []*dynamodb.PutItemInput{{TableName: table, Item: key(n)}, {TableName: table, Item: key(n + 1)}})...)
		},
		"get": func(ctx context.Context, n int) error {
			_, err := db.GetItem(ctx, &dynamodb.GetItemInput{TableName: table, Key: key(n)})
			return err
		},
		"query": func(ctx context.Context, n int) error {
			_, err := db.Query(ctx, &dynamodb.QueryInput{TableName: table, KeyConditionExpression: ptr("pk = :p"), ExpressionAttributeValues: item{":p": key(n)["pk"]}, Limit: ptr(int32(20))})
			return err
		},
		"read both": func(ctx context.Context, n int) error {
			_, err := db.TransactGetItems(ctx, &dynamodb.TransactGetItemsInput{TransactItems: []types.TransactGetItem{{Get: &types.Get{TableName: table, Key: key(n)}}}})
			return err
		},
		"statement": func(ctx context.Context, n int) error {
			_, err := db.ExecuteStatement(ctx, &dynamodb.ExecuteStatementInput{Statement: ptr(`SELECT * FROM "table" WHERE pk = ?`), Parameters: []types.AttributeValue{key(n)["pk"]}, Limit: ptr(int32(20))})
			return err
		},
		"make a table": func(ctx context.Context, n int) error {
			_, err := db.CreateTable(ctx, tableInput(fmt.Sprint("table-", n)))
			return err
		},
		"check":  func(ctx context.Context, _ int) error { _, err := db.Check(ctx, func(engine.Finding) {}); return err },
		"expire": func(ctx context.Context, _ int) error { _, err := db.ExpireNow(ctx); return err },
		"trim":   func(ctx context.Context, _ int) error { return db.TrimStreams(ctx) },
		"bytes":  func(context.Context, int) error { db.DiskBytes(); return nil },
	}
}

// TestCloseWaitsForCalls closes a database that many goroutines use. When it is opened again, it must
// contain every acknowledged write, and everything must agree.
func TestCloseWaitsForCalls(t *testing.T) {
	for range 3 {
		ctx, dir := context.Background(), t.TempDir()
		db := must[*engine.DB](t)(engine.Open(dir, engine.Options{NoSync: true}))
		must[*dynamodb.CreateTableOutput](t)(db.CreateTable(ctx, tableInput("table")))
		var begun, callers sync.WaitGroup
		var stored atomic.Int64 // the last item that was put
		var stop atomic.Bool
		for name, call := range closers(db) {
			begun.Add(1)
			ready := sync.OnceFunc(begun.Done)
			callers.Go(func() {
				defer ready()
				for n := 0; ; n++ {
					err := call(ctx, n)
					switch {
					case errors.Is(err, engine.ErrClosed), err == nil && name == "bytes" && stop.Load():
						return
					case errors.Is(err, context.Canceled) && name == "check": // Close has cancelled it
					case err != nil:
						t.Errorf("%s: %v", name, err)
						return
					case name == "put":
						stored.Store(int64(n))
					}
					if n == 2 {
						ready()
					}
				}
			})
		}
		begun.Wait()
		if err := db.Close(); err != nil {
			t.Error(err)
		}
		stop.Store(true)
		callers.Wait()
		again := must[*engine.DB](t)(engine.Open(dir, engine.Options{}))
		last := fmt.Sprint(stored.Load())
		key := item{"pk": str(fmt.Sprint(stored.Load() % 7)), "sk": str(last)}
		if out := must[*dynamodb.GetItemOutput](t)(again.GetItem(ctx, &dynamodb.GetItemInput{TableName: ptr("table"), Key: key})); out.Item == nil {
			t.Errorf("item %s was acknowledged and is not there", last)
		}
		must[engine.CheckSummary](t)(again.Check(ctx, func(f engine.Finding) { t.Error(f) }))
		if err := again.Close(); err != nil {
			t.Error(err)
		}
	}
}
