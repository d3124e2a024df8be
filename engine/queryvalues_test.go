package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/engine"
)

// TestQueryValues checks that QueryValues visits what Query returns: in pages of any size, in both
// orders, on tables and indexes, with filters and projections.
func TestQueryValues(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	ctx := context.Background()
	db := memory(t, engine.Options{})
	str := func(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
	attr := func(name string) types.AttributeDefinition {
		return types.AttributeDefinition{AttributeName: &name, AttributeType: types.ScalarAttributeTypeS}
	}
	keys := func(pk, sk string) []types.KeySchemaElement {
		return []types.KeySchemaElement{{AttributeName: &pk, KeyType: types.KeyTypeHash}, {AttributeName: &sk, KeyType: types.KeyTypeRange}}
	}
	name, global, local := "things", "global", "local"
	must[*dynamodb.CreateTableOutput](t)(db.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName: &name, BillingMode: types.BillingModePayPerRequest, KeySchema: keys("pk", "sk"), AttributeDefinitions: []types.AttributeDefinition{attr("pk"), attr("sk"), attr("g")},
		GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{{IndexName: &global, KeySchema: keys("pk", "g"), Projection: &types.Projection{ProjectionType: types.ProjectionTypeAll}}},
		LocalSecondaryIndexes:  []types.LocalSecondaryIndex{{IndexName: &local, KeySchema: keys("pk", "g"), Projection: &types.Projection{ProjectionType: types.ProjectionTypeKeysOnly}}},
	}))
	optional := map[string]types.AttributeValue{"a": &types.AttributeValueMemberN{Value: "-1.5"}, "b": &types.AttributeValueMemberB{Value: []byte{0}}, "l": &types.AttributeValueMemberL{Value: []types.AttributeValue{str("x")}},
		"m": &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{"z": str("")}}, "n": &types.AttributeValueMemberNULL{Value: true}, "s": &types.AttributeValueMemberSS{Value: []string{"p", "q"}}, "zz": str("end")}
	for i := range 60 {
		it := map[string]types.AttributeValue{"pk": str("p"), "sk": str(fmt.Sprintf("%03d", i)), "g": str(fmt.Sprint(r.IntN(100)))}
		for k, v := range optional {
			if r.IntN(2) == 0 {
				it[k] = v
			}
		}
		must[*dynamodb.PutItemOutput](t)(db.PutItem(ctx, &dynamodb.PutItemInput{TableName: &name, Item: it}))
	}
	names := []string{"", "a", "b", "g", "l", "m", "pk", "s", "sk", "t", "zz"} // some of the names do not occur
	condition, filter, projection := "pk = :p", "attribute_exists(a)", "sk, a, zz"
	for range 200 {
		in := &dynamodb.QueryInput{TableName: &name, KeyConditionExpression: &condition, ExpressionAttributeValues: map[string]types.AttributeValue{":p": str("p")}}
		if n := int32(r.IntN(20)); n > 0 {
			in.Limit = &n
		}
		forward := r.IntN(2) == 0
		in.ScanIndexForward = &forward
		switch r.IntN(3) {
		case 0:
			in.IndexName = &global
		case 1:
			in.IndexName = &local
			in.Select = []types.Select{"", types.SelectAllAttributes}[r.IntN(2)]
		}
		if r.IntN(4) == 0 {
			in.FilterExpression = &filter
		}
		if r.IntN(4) == 0 && in.Select == "" {
			in.ProjectionExpression = &projection
		}
		for {
			want := must[*dynamodb.QueryOutput](t)(db.Query(ctx, in))
			visited := 0
			have := must[*dynamodb.QueryOutput](t)(db.QueryValues(ctx, in, names, func(values []types.AttributeValue) error {
				for i, name := range names {
					if visited < len(want.Items) && !reflect.DeepEqual(values[i], want.Items[visited][name]) {
						t.Errorf("item %d: %s is %v, want %v", visited, name, values[i], want.Items[visited][name])
					}
				}
				visited++
				return nil
			}))
			if visited != len(want.Items) || len(have.Items) > 0 || have.Count != want.Count || have.ScannedCount != want.ScannedCount || !reflect.DeepEqual(have.LastEvaluatedKey, want.LastEvaluatedKey) {
				t.Fatalf("%d visited of %d; %+v", visited, len(want.Items), have)
			}
			if in.ExclusiveStartKey = want.LastEvaluatedKey; len(in.ExclusiveStartKey) == 0 {
				break
			}
		}
	}
	refused := errors.New("refused")
	_, err := db.QueryValues(ctx, &dynamodb.QueryInput{TableName: &name, KeyConditionExpression: &condition, ExpressionAttributeValues: map[string]types.AttributeValue{":p": str("p")}}, names,
		func([]types.AttributeValue) error { return refused })
	if !errors.Is(err, refused) {
		t.Errorf("an error of visit: %v", err)
	}
	if _, err := db.QueryValues(ctx, nil, nil, nil); dynamo.Code(err) == "" {
		t.Errorf("nothing: %v", err)
	}
}
