package salvage_test

import (
	"context"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/engine"
)

type item = map[string]types.AttributeValue

func ptr[T any](v T) *T { return &v }

func str(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func must[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func putItem(t testing.TB, db *engine.DB, table string, it item) {
	t.Helper()
	must[*dynamodb.PutItemOutput](t)(db.PutItem(context.Background(), &dynamodb.PutItemInput{TableName: &table, Item: it}))
}

// tableInput returns a table with a stream and an index that projects all attributes.
func tableInput(name string) *dynamodb.CreateTableInput {
	var attributes []types.AttributeDefinition
	for _, a := range []string{"pk", "sk", "gsi1pk", "gsi1sk"} {
		attributes = append(attributes, types.AttributeDefinition{AttributeName: &a, AttributeType: types.ScalarAttributeTypeS})
	}
	keys := func(hash, rng string) []types.KeySchemaElement {
		return []types.KeySchemaElement{{AttributeName: &hash, KeyType: types.KeyTypeHash}, {AttributeName: &rng, KeyType: types.KeyTypeRange}}
	}
	return &dynamodb.CreateTableInput{
		TableName: &name, BillingMode: types.BillingModePayPerRequest, AttributeDefinitions: attributes, KeySchema: keys("pk", "sk"),
		GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{{
			IndexName: ptr("gsi1"), KeySchema: keys("gsi1pk", "gsi1sk"), Projection: &types.Projection{ProjectionType: types.ProjectionTypeAll},
		}},
		StreamSpecification: &types.StreamSpecification{StreamEnabled: ptr(true), StreamViewType: types.StreamViewTypeNewAndOldImages},
	}
}
