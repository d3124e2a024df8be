package engine_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/engine"
)

func ptr[T any](v T) *T { return &v }

func str(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

// tableInput returns the project's table: pk and sk, one overloaded index, and a stream of both
// images.
func tableInput(name string) *dynamodb.CreateTableInput {
	attr := func(name string) types.AttributeDefinition {
		return types.AttributeDefinition{AttributeName: &name, AttributeType: types.ScalarAttributeTypeS}
	}
	keys := func(hash, rng string) []types.KeySchemaElement {
		return []types.KeySchemaElement{{AttributeName: &hash, KeyType: types.KeyTypeHash}, {AttributeName: &rng, KeyType: types.KeyTypeRange}}
	}
	return &dynamodb.CreateTableInput{
		TableName: &name, BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{attr("pk"), attr("sk"), attr("gsi1pk"), attr("gsi1sk")},
		KeySchema:            keys("pk", "sk"),
		GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{{
			IndexName: ptr("gsi1"), KeySchema: keys("gsi1pk", "gsi1sk"), Projection: &types.Projection{ProjectionType: types.ProjectionTypeAll},
		}},
		StreamSpecification: &types.StreamSpecification{StreamEnabled: ptr(true), StreamViewType: types.StreamViewTypeNewAndOldImages},
	}
}

// memory opens a database in memory, without background maintenance, for one test.
func memory(t testing.TB, o engine.Options) *engine.DB {
	t.Helper()
	o.TTLInterval = -1
	db, err := engine.OpenMemory(o)
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

func num(s string) types.AttributeValue { return &types.AttributeValueMemberN{Value: s} }
