package engine_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/engine"
)

// refused fails unless err is a ValidationException whose message contains the text.
func refused(t *testing.T, err error, text string) {
	t.Helper()
	var api smithy.APIError
	if dynamo.Code(err) != dynamo.CodeValidation {
		t.Errorf("got %v, want a ValidationException: %s", err, text)
		return
	}
	if api = err.(smithy.APIError); !strings.Contains(api.ErrorMessage(), text) {
		t.Errorf("got %q, want %q in it", api.ErrorMessage(), text)
	}
}

// TestManyKeysSchema creates indexes with good and bad key schemas. In a schema, H and R mark a
// hash key and a range key with the name that follows.
func TestManyKeysSchema(t *testing.T) {
	db := memory(t, engine.Options{})
	for schema, text := range map[string]string{
		"Ha Hb":                   "",
		"Ha Hb Hc Hd Re Rf Rg Rh": "",
		"Ha Rb Rc":                "",
		"Ha Hb Hc Hd He":          "The KeySchema exceeds the maximum allowed number of HASH key attributes",
		"Ha Rb Rc Rd Re Rf":       "The KeySchema exceeds the maximum allowed number of RANGE key attributes",
		"Ra Hb":                   "The first KeySchemaElement is not a HASH key type",
		"Ha Rb Hc":                "All HASH key attributes must precede RANGE key attributes in the KeySchema",
		"Ha Hb Ra":                "multiple key attributes with the same name",
		"Ha Ra":                   "Both the Hash Key and the Range Key element in the KeySchema have the same name",
	} {
		t.Run(schema, func(t *testing.T) {
			in := &dynamodb.CreateTableInput{TableName: ptr(strings.ReplaceAll(schema, " ", "-")), BillingMode: types.BillingModePayPerRequest,
				KeySchema: manyKeys([]string{"pk"}, nil), AttributeDefinitions: []types.AttributeDefinition{{AttributeName: ptr("pk"), AttributeType: "S"}}}
			var ks []types.KeySchemaElement
			names := []string{"pk"}
			for _, f := range strings.Fields(schema) {
				kind, name := types.KeyTypeHash, f[1:]
				if f[0] == 'R' {
					kind = types.KeyTypeRange
				}
				ks = append(ks, types.KeySchemaElement{AttributeName: &name, KeyType: kind})
				if !slices.Contains(names, name) {
					names = append(names, name)
					in.AttributeDefinitions = append(in.AttributeDefinitions, types.AttributeDefinition{AttributeName: &name, AttributeType: "S"})
				}
			}
			in.GlobalSecondaryIndexes = []types.GlobalSecondaryIndex{{IndexName: ptr("index"), KeySchema: ks, Projection: &types.Projection{ProjectionType: "ALL"}}}
			out, err := db.CreateTable(context.Background(), in)
			if text != "" {
				refused(t, err, text)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got := out.TableDescription.GlobalSecondaryIndexes[0].KeySchema
			for i := range ks {
				if len(got) != len(ks) || *got[i].AttributeName != *ks[i].AttributeName || got[i].KeyType != ks[i].KeyType {
					t.Errorf("described as %v", got)
				}
			}
		})
	}
}

// TestManyKeysErrors sends queries that an index with several attributes per key does not answer.
// The queries that it does answer are compared with the model.
func TestManyKeysErrors(t *testing.T) {
	ctx, db := context.Background(), memory(t, engine.Options{})
	must[*dynamodb.CreateTableOutput](t)(db.CreateTable(ctx, modelTable()))
	values := item{":a": str("x"), ":b": num("1"), ":c": str("c"), ":n": num("2")}
	for cond, text := range map[string]string{
		"a = :a":                                    "Query condition missed key schema element: b",
		"a = :a AND b > :b":                         "Query key condition not supported",
		"a = :a AND b = :b AND n = :n":              "Query condition missed key schema element: c",
		"a = :a AND b = :b AND c > :c AND n = :n":   "Query key condition not supported",
		"a = :a AND b = :c":                         "Condition parameter type does not match schema type",
		"a = :a AND b = :b AND c = :c AND v = :n":   "Query condition missed key schema element: n",
		"a = :a AND a = :c AND b = :b AND c = :c":   "must only contain one condition per key",
		"a = :a AND b = :b AND (c = :c OR n = :n)":  "Invalid operator used in KeyConditionExpression: OR",
		"a = :a AND b = :b AND begins_with(n, :c)":  "Query condition missed key schema element: c",
		"a = :a AND b BETWEEN :b AND :n AND c = :c": "Query key condition not supported",
	} {
		used := item{}
		for name, v := range values {
			if strings.Contains(cond, name) {
				used[name] = v
			}
		}
		_, err := db.Query(ctx, &dynamodb.QueryInput{TableName: ptr("model"), IndexName: ptr("many"), KeyConditionExpression: &cond, ExpressionAttributeValues: used})
		t.Run(cond, func(t *testing.T) { refused(t, err, text) })
	}
	query := func(change func(*dynamodb.QueryInput)) error {
		in := &dynamodb.QueryInput{TableName: ptr("model"), IndexName: ptr("many"), KeyConditionExpression: ptr("a = :a AND b = :b"),
			ExpressionAttributeValues: item{":a": str("x"), ":b": num("1")}}
		change(in)
		_, err := db.Query(ctx, in)
		return err
	}
	for _, name := range []string{"a", "b", "c", "n"} {
		refused(t, query(func(in *dynamodb.QueryInput) { in.FilterExpression = ptr("attribute_exists(" + name + ")") }), "can only contain non-primary key attributes: Primary key attribute: "+name)
		start := item{"pk": str("p"), "sk": str("s"), "a": str("x"), "b": num("1"), "c": str("c"), "n": num("1")}
		delete(start, name)
		refused(t, query(func(in *dynamodb.QueryInput) { in.ExclusiveStartKey = start }), "The provided starting key is invalid")
	}
	if err := query(func(in *dynamodb.QueryInput) {
		in.KeyConditionExpression, in.ExpressionAttributeValues = nil, nil
		in.KeyConditions = map[string]types.Condition{"a": {ComparisonOperator: "EQ", AttributeValueList: []types.AttributeValue{str("x")}},
			"b": {ComparisonOperator: "EQ", AttributeValueList: []types.AttributeValue{num("1")}}}
	}); err != nil {
		t.Errorf("the parameters of the time before expressions name all hash keys: %v", err)
	}
	_, err := db.PutItem(ctx, &dynamodb.PutItemInput{TableName: ptr("model"), Item: item{"pk": str("p"), "sk": str("s"), "b": str("one")}})
	refused(t, err, "Type mismatch for Index Key b Expected: N Actual: S IndexName: many")
}
