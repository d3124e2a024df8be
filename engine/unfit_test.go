package engine_test

import (
	"context"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/engine"
)

// TestBackfillSkipsInvalidKeys adds an index to items whose attributes cannot be its keys. The items must
// not be in the index, and must still be replaceable and deletable.
func TestBackfillSkipsInvalidKeys(t *testing.T) {
	ctx := context.Background()
	for name, v := range map[string]types.AttributeValue{
		"a map":  &types.AttributeValueMemberM{Value: item{}},
		"a bool": &types.AttributeValueMemberBOOL{Value: true},
		"number": &types.AttributeValueMemberN{Value: "1"},
		"empty":  str(""),
		"long":   str(string(make([]byte, 2049))),
	} {
		t.Run(name, func(t *testing.T) {
			db := memory(t, engine.Options{})
			in := tableInput("table")
			index := in.GlobalSecondaryIndexes[0]
			in.GlobalSecondaryIndexes, in.AttributeDefinitions = nil, in.AttributeDefinitions[:2]
			must[*dynamodb.CreateTableOutput](t)(db.CreateTable(ctx, in))
			for _, sk := range []string{"replaced", "deleted"} {
				putItem(t, db, "table", item{"pk": str("a"), "sk": str(sk), "gsi1pk": v, "gsi1sk": str("x")})
			}
			must[*dynamodb.UpdateTableOutput](t)(db.UpdateTable(ctx, &dynamodb.UpdateTableInput{TableName: ptr("table"), AttributeDefinitions: tableInput("table").AttributeDefinitions,
				GlobalSecondaryIndexUpdates: []types.GlobalSecondaryIndexUpdate{{Create: &types.CreateGlobalSecondaryIndexAction{IndexName: index.IndexName, KeySchema: index.KeySchema, Projection: index.Projection}}}}))
			waitActive(t, db, "table")
			if rows := scanAll(t, db, "table", "gsi1"); len(rows) != 0 {
				t.Errorf("in the index: %v", rows)
			}
			putItem(t, db, "table", item{"pk": str("a"), "sk": str("replaced"), "gsi1pk": str("g"), "gsi1sk": str("x")})
			must[*dynamodb.DeleteItemOutput](t)(db.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: ptr("table"), Key: item{"pk": str("a"), "sk": str("deleted")}}))
			if rows := scanAll(t, db, "table", "gsi1"); len(rows) != 1 {
				t.Errorf("in the index: %v", rows)
			}
		})
	}
}

// waitActive returns when the newest index of a table is built.
func waitActive(t *testing.T, db *engine.DB, name string) {
	t.Helper()
	for building := true; building; {
		out := must[*dynamodb.DescribeTableOutput](t)(db.DescribeTable(context.Background(), &dynamodb.DescribeTableInput{TableName: &name}))
		building = out.Table.GlobalSecondaryIndexes[len(out.Table.GlobalSecondaryIndexes)-1].IndexStatus != types.IndexStatusActive
	}
}
