package dynamotest

import (
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

func testBatchGet(f *fixture) {
	f.define("Items", false)
	f.define("Others", true)
	f.put("Items", A{"pk": "a", "v": 1, "w": 1})
	f.put("Items", A{"pk": "b", "v": 2})
	f.put("Others", A{"pk": "a", "sk": "s"})
	get := func(in map[string]types.KeysAndAttributes) (*dynamodb.BatchGetItemOutput, error) {
		return f.api.BatchGetItem(f.ctx, &dynamodb.BatchGetItemInput{RequestItems: in})
	}
	keys := func(keys ...A) types.KeysAndAttributes {
		var ka types.KeysAndAttributes
		for _, k := range keys {
			ka.Keys = append(ka.Keys, k.item())
		}
		return ka
	}
	projected := keys(A{"pk": "a"}, A{"pk": "none"})
	projected.ProjectionExpression = ptr("v")
	out, err := get(map[string]types.KeysAndAttributes{"Items": projected, "Others": keys(A{"pk": "a", "sk": "s"})})
	f.ok(err)
	f.items("Items", out.Responses["Items"], A{"v": 1})
	f.items("Others", out.Responses["Others"], A{"pk": "a", "sk": "s"})
	if out.UnprocessedKeys == nil || len(out.UnprocessedKeys) != 0 {
		f.Errorf("unprocessed %v", out.UnprocessedKeys)
	}
	var many []A
	for i := range 101 {
		many = append(many, A{"pk": fmt.Sprint(i)})
	}
	for _, c := range []struct {
		name string
		in   map[string]types.KeysAndAttributes
		code string
		text string
	}{
		{"nothing", map[string]types.KeysAndAttributes{}, "ValidationException", "The requestItems parameter is required for BatchGetItem"},
		{"key twice", map[string]types.KeysAndAttributes{"Items": keys(A{"pk": "a"}, A{"pk": "a"})}, "ValidationException", "Provided list of item keys contains duplicates"},
		{"too many", map[string]types.KeysAndAttributes{"Items": keys(many...)}, "ValidationException", "Member must have length less than or equal to 100"},
		{"too many of two tables", map[string]types.KeysAndAttributes{"Items": keys(many[:60]...), "Others": keys(many[60:]...)}, "ValidationException", ""},
		{"bad key", map[string]types.KeysAndAttributes{"Items": keys(A{"pk": 1})}, "ValidationException", "The provided key element does not match the schema"},
		{"no table", map[string]types.KeysAndAttributes{"Nowhere": keys(A{"pk": "a"})}, "ResourceNotFoundException", "Requested resource not found"},
	} {
		f.sub(c.name, func(f *fixture) {
			_, err := get(c.in)
			f.refused(err, c.code, c.text)
		})
	}
}

func testBatchWrite(f *fixture) {
	f.define("Items", false)
	f.define("Counted", false, keyType("pk", "N"))
	put := func(it A) types.WriteRequest {
		return types.WriteRequest{PutRequest: &types.PutRequest{Item: it.item()}}
	}
	del := func(key A) types.WriteRequest {
		return types.WriteRequest{DeleteRequest: &types.DeleteRequest{Key: key.item()}}
	}
	write := func(table string, requests ...types.WriteRequest) (*dynamodb.BatchWriteItemOutput, error) {
		return f.api.BatchWriteItem(f.ctx, &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{table: requests}})
	}
	f.put("Items", A{"pk": "old"})
	out, err := write("Items", put(A{"pk": "a", "v": 1}), put(A{"pk": "b"}), del(A{"pk": "old"}), del(A{"pk": "none"}))
	f.ok(err)
	if out.UnprocessedItems == nil || len(out.UnprocessedItems) != 0 {
		f.Errorf("unprocessed %v", out.UnprocessedItems)
	}
	f.same("a", f.get("Items", A{"pk": "a"}), A{"pk": "a", "v": 1})
	f.same("old", f.get("Items", A{"pk": "old"}), nil)
	var many []types.WriteRequest
	for i := range 26 {
		many = append(many, put(A{"pk": fmt.Sprint(i)}))
	}
	for _, c := range []struct {
		name, table string
		requests    []types.WriteRequest
		code, text  string
	}{
		{"duplicates", "Items", []types.WriteRequest{put(A{"pk": "x"}), del(A{"pk": "x"})}, "ValidationException", "Provided list of item keys contains duplicates"},
		{"one number spelt twice", "Counted", []types.WriteRequest{put(A{"pk": num("1")}), put(A{"pk": num("1.0")})}, "ValidationException", "Provided list of item keys contains duplicates"},
		{"too many", "Items", many, "ValidationException", "Member must have length less than or equal to 25"},
		{"no table", "Nowhere", many[:1], "ResourceNotFoundException", "Requested resource not found"},
		{"bad key", "Items", []types.WriteRequest{put(A{"pk": "y"}), del(A{"pk": 1})}, "ValidationException", "The provided key element does not match the schema"},
		{"too large", "Items", []types.WriteRequest{put(A{"pk": "y", "v": strings.Repeat("x", 400<<10)})}, "ValidationException", "Item size has exceeded the maximum allowed size"},
	} {
		f.sub(c.name, func(f *fixture) {
			_, err := write(c.table, c.requests...)
			f.refused(err, c.code, c.text)
		})
	}
	f.same("a refused batch writes nothing", f.get("Items", A{"pk": "y"}), nil)
	f.sub("nothing", func(f *fixture) {
		_, err := f.api.BatchWriteItem(f.ctx, &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{}})
		f.invalid(err, "The requestItems parameter is required for BatchWriteItem")
	})
}
