package dynamojson_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/dynamo/dynamojson"
)

func TestAppendOrdered(t *testing.T) {
	const want = `{"Item":{"a":{"L":[{"M":{"x":{"S":","},"y":{"M":{"p":{"N":"1"},"q":{"NULL":true},"r":{"SS":["b","a"]}}}}},{"M":{}}]},"b":{"S":"}"},"c":{"BOOL":false},"ä":{"M":{"one":{"S":"\""}}}}}`
	for range 20 { // the order of maps differs each time
		var put types.PutRequest
		if err := dynamojson.Decode([]byte(want), &put); err != nil {
			t.Fatal(err)
		}
		if got := string(dynamojson.AppendOrdered([]byte("before"), &put)); got != "before"+want {
			t.Fatalf("got  %s\nwant %s", got, want)
		}
	}
}
