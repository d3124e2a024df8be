package dynamojson_test

import (
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/aws/smithy-go"

	"github.com/onefold/onefold/dynamo/dynamojson"
)

func TestAppend(t *testing.T) {
	for _, c := range []struct {
		name string
		v    smithy.Serializable
		want string
	}{
		{"export line", &types.PutRequest{Item: item("pk", &types.AttributeValueMemberS{Value: "a"})}, `{"Item":{"pk":{"S":"a"}}}`},
		{"nothing", &types.PutRequest{}, `{}`},
		{"empty map", &types.PutRequest{Item: map[string]types.AttributeValue{}}, `{"Item":{}}`},
		{"nil value", &types.PutRequest{Item: item("a", nil)}, `{"Item":{"a":null}}`},
		{"list", put(&types.AttributeValueMemberL{Value: []types.AttributeValue{
			&types.AttributeValueMemberN{Value: "1"}, &types.AttributeValueMemberNULL{Value: true}, &types.AttributeValueMemberBOOL{},
		}}), `{"Item":{"v":{"L":[{"N":"1"},{"NULL":true},{"BOOL":false}]}}}`},
		{"empty list", put(&types.AttributeValueMemberL{Value: []types.AttributeValue{}}), `{"Item":{"v":{"L":[]}}}`},
		{"map", put(&types.AttributeValueMemberM{Value: item("k", &types.AttributeValueMemberM{})}), `{"Item":{"v":{"M":{"k":{"M":{}}}}}}`},
		{"binary", put(&types.AttributeValueMemberB{Value: []byte{0xfb, 0xff}}), `{"Item":{"v":{"B":"+/8="}}}`},
		{"sets", put(&types.AttributeValueMemberBS{Value: [][]byte{{1}, {}}}), `{"Item":{"v":{"BS":["AQ==",""]}}}`},
		{"escapes", put(&types.AttributeValueMemberS{Value: "\"\\/\b\n\r\t\x00\x7f é😀\xff"}),
			`{"Item":{"v":{"S":"\"\\/\u0008\n\r\t\u0000\u007f é😀` + "\uFFFD" + `"}}}`},
		{"escaped key", &types.PutRequest{Item: item("a\"b", &types.AttributeValueMemberS{})}, `{"Item":{"a\"b":{"S":""}}}`},
		{"unprocessed", &dynamodb.BatchWriteItemOutput{UnprocessedItems: map[string][]types.WriteRequest{}}, `{"UnprocessedItems":{}}`},
		{"time", &types.TableDescription{CreationDateTime: aws.Time(time.UnixMilli(1_700_000_000_120))}, `{"CreationDateTime":1700000000.120}`},
		{"whole time", &types.TableDescription{CreationDateTime: aws.Time(time.Unix(1_700_000_000, 0)), ItemCount: aws.Int64(0)},
			`{"CreationDateTime":1700000000,"ItemCount":0}`},
		{"capacity", &types.ConsumedCapacity{CapacityUnits: aws.Float64(1), ReadCapacityUnits: aws.Float64(0.5)},
			`{"CapacityUnits":1.0,"ReadCapacityUnits":0.5}`},
		{"stream record", &dynamodbstreams.GetRecordsOutput{Records: []streamtypes.Record{{
			UserIdentity: &streamtypes.Identity{PrincipalId: aws.String("dynamodb.amazonaws.com"), Type: aws.String("Service")},
			EventName:    streamtypes.OperationTypeRemove,
		}}}, `{"Records":[{"eventName":"REMOVE","userIdentity":{"PrincipalId":"dynamodb.amazonaws.com","Type":"Service"}}]}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := string(dynamojson.Append([]byte("> "), c.v))
			if got != "> "+c.want {
				t.Errorf("got  %s\nwant > %s", got, c.want)
			}
			if !json.Valid([]byte(got[2:])) {
				t.Error("not JSON")
			}
		})
	}
}

func TestDecode(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"plain", `{"Item":{"pk":{"S":"a"}}}`, ""},
		{"white space", " {\n\t\"Item\" : { \"pk\" : { \"S\" : \"a\" } , \"l\" : { \"L\" : [ ] } } }\r\n", `{"Item":{"l":{"L":[]},"pk":{"S":"a"}}}`},
		{"unknown members", `{"X":{"a":[1,-2.5e3,{"b":null}],"c":"\u00e9"},"Item":{"a":{"N":"1","Z":[]}}}`, `{"Item":{"a":{"N":"1"}}}`},
		{"null members", `{"Item":{"a":{"S":null,"N":"1"}}}`, `{"Item":{"a":{"N":"1"}}}`},
		{"null", `{"Item":null}`, `{}`},
		{"the last counts", `{"Item":{"a":{"S":"1"}},"Item":{"b":{"S":"2"}}}`, `{"Item":{"b":{"S":"2"}}}`},
		{"last key counts", `{"Item":{"a":{"S":"1"},"a":{"S":"2"}}}`, `{"Item":{"a":{"S":"2"}}}`},
		{"escapes", `{"Item":{"\u0061":{"S":"\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00x"}}}`, `{"Item":{"a":{"S":"\"\\/\u0008\u000c\n\r\té😀x"}}}`},
		{"empty value", `{"Item":{"a":{"S":"x"},"b":{}}}`, `{"Item":{"a":{"S":"x"},"b":null}}`},
		{"only unknown types", `{"Item":{"a":{"S":"x"},"b":{"Q":{"S":"y"}}}}`, `{"Item":{"a":{"S":"x"},"b":null}}`},
		{"null value", `{"Item":{"a":null}}`, ""},
		{"words for truth", `{"Item":{"a":{"BOOL":"Yes"}}}`, `{"Item":{"a":{"BOOL":true}}}`},
		{"binary", `{"Item":{"a":{"BS":["AQ==","","\/\/\/\/"]}}}`, `{"Item":{"a":{"BS":["AQ==","","////"]}}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			var v types.PutRequest
			if err := dynamojson.Decode([]byte(c.in), &v); err != nil {
				t.Fatal(err)
			}
			want := c.want
			if want == "" {
				want = c.in
			}
			if got := sorted(t, dynamojson.Append(nil, &v)); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

func TestDecodeRefuses(t *testing.T) {
	deep := strings.Repeat(`{"L":[`, 150) + strings.Repeat(`]}`, 150)
	for _, c := range []struct{ in, message string }{
		{``, ""}, {`{`, ""}, {`{}x`, ""}, {`{} {}`, ""}, {`{"Item":{}`, ""}, {`{"Item":{},}`, ""}, {`{,}`, ""}, {`{"a" 1}`, ""}, {`{"a":01}`, ""},
		{`{"a":[1,]}`, ""}, {`{"a":tru}`, ""}, {`{"a":"` + "\n" + `"}`, ""}, {`{"a":"\x"}`, ""}, {`{"a":"\ud800"}`, ""}, {`{"a":"\ud800\u0041"}`, ""},
		{`{"a":"\u12"}`, ""}, {`{'a':1}`, ""}, {`{"a":-}`, ""}, {`{"a":1.}`, ""}, {`{"a":1e}`, ""}, {"{\"a\":\"\xff\"}", ""}, {`{"a":NaN}`, ""},
		{`{"Item":{"a":` + deep + `}}`, ""}, {`{"a":` + strings.Repeat("[", 100_000), ""},
		{`null`, "Unexpected value type in payload"},
		{`"a"`, "Unexpected value type in payload"},
		{`[]`, "Unrecognized collection type class com.amazonaws.dynamodb.v20120810.PutItemInput"},
		{`{"TableName":1}`, "NUMBER_VALUE cannot be converted to String"},
		{`{"TableName":1.5}`, "DECIMAL_VALUE cannot be converted to String"},
		{`{"TableName":true}`, "TRUE_VALUE cannot be converted to String"},
		{`{"TableName":false}`, "FALSE_VALUE cannot be converted to String"},
		{`{"TableName":[]}`, "Unrecognized collection type class java.lang.String"},
		{`{"TableName":{}}`, "Start of structure or map found where not expected"},
		{`{"Item":"a"}`, "Unexpected field type"},
		{`{"Item":[]}`, "Unrecognized collection type java.util.Map<java.lang.String, com.amazonaws.dynamodb.v20120810.AttributeValue>"},
		{`{"ExpressionAttributeNames":[]}`, "Unrecognized collection type java.util.Map<java.lang.String, java.lang.String>"},
		{`{"Item":{"a":1}}`, "Unexpected value type in payload"},
		{`{"Item":{"a":[]}}`, "Unrecognized collection type class com.amazonaws.dynamodb.v20120810.AttributeValue"},
		{`{"Item":{"a":{"S":1}}}`, "NUMBER_VALUE cannot be converted to String"},
		{`{"Item":{"a":{"BOOL":1}}}`, "NUMBER_VALUE cannot be converted to Boolean"},
		{`{"Item":{"a":{"BOOL":"maybe"}}}`, "Unexpected token received from parser"},
		{`{"Item":{"a":{"BOOL":{}}}}`, "Start of structure or map found where not expected"},
		{`{"Item":{"a":{"B":1}}}`, "only base-64-encoded strings are convertible to bytes"},
		{`{"Item":{"a":{"B":"abc"}}}`, "Base64 encoded length is expected a multiple of 4 bytes but found: 3"},
		{`{"Item":{"a":{"B":"ab=="}}}`, "Invalid last non-pad Base64 character dectected"},
		{`{"Item":{"a":{"SS":"a"}}}`, "Unexpected field type"},
		{`{"Item":{"a":{"SS":{}}}}`, "Start of structure or map found where not expected"},
		{`{"Item":{"a":{"L":[1]}}}`, "Unexpected value type in payload"},
		{`{"Item":{"a":{"NS":[1]}}}`, "NUMBER_VALUE cannot be converted to String"},
		{`{"Expected":{"a":{"Value":1}}}`, "Unexpected field type"},
	} {
		err := dynamojson.DecodeInput([]byte(c.in), &dynamodb.PutItemInput{})
		var api smithy.APIError
		if !errors.As(err, &api) || api.ErrorCode() != dynamojson.CodeSerialization || api.ErrorMessage() != c.message {
			t.Errorf("%.80s: got %v, want %q", c.in, err, c.message)
		}
	}
}

func TestDecodeNumbers(t *testing.T) {
	for in, want := range map[string]any{
		"10": int32(10), "-0": int32(0), "2.9": int32(2), "1e2": int32(100), "2147483647": int32(2147483647),
		"2147483648": "NUMBER_VALUE cannot be converted to Integer", `"1"`: "STRING_VALUE cannot be converted to Integer",
		"true": "TRUE_VALUE cannot be converted to Integer", "1e99": "DECIMAL_VALUE cannot be converted to Integer",
		"99999999999999999999": "NUMBER_VALUE cannot be converted to Integer", "[]": "Unrecognized collection type class java.lang.Integer",
	} {
		var v dynamodb.QueryInput
		err := dynamojson.DecodeInput([]byte(`{"Limit":`+in+`}`), &v)
		switch want := want.(type) {
		case int32:
			if err != nil || aws.ToInt32(v.Limit) != want {
				t.Errorf("%s: got %v, %v", in, aws.ToInt32(v.Limit), err)
			}
		case string:
			var api smithy.APIError
			if !errors.As(err, &api) || api.ErrorMessage() != want {
				t.Errorf("%s: got %v, want %s", in, err, want)
			}
		}
	}
}

func TestDecodeSeveralTypes(t *testing.T) {
	for _, in := range []string{`{"Item":{"a":{"S":"a","N":"1"}}}`, `{"Item":{"a":{"L":[{"S":"a","M":{}}]}}}`} {
		err := dynamojson.Decode([]byte(in), &types.PutRequest{})
		var api smithy.APIError
		if !errors.As(err, &api) || api.ErrorCode() != "ValidationException" || !strings.Contains(api.ErrorMessage(), "more than one datatypes set") {
			t.Errorf("%s: got %v", in, err)
		}
	}
}

// FuzzDecode checks that accepted input is JSON, and that it stays the same when it is encoded to
// JSON and decoded again.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"TableName":"t","Item":{"a":{"S":"x"},"b":{"N":"1"},"c":{"L":[{"M":{"d":{"B":"AQ=="}}}]},"e":{"BS":[""]},"f":{}}}`,
		`{"Item":{"\u0061\ud83d\ude00":{"NULL":true,"S":null}}}`, `{"X":[[[1e5,-0.5,{"a":[]}]]],"Expected":{"a":{"Value":{"N":"1"},"Exists":false}}}`,
		`{"ExpressionAttributeNames":{"#a":"b","#a":null},"ReturnValues":"ALL_OLD"}`, `[`, `{"Item":{"a":{"S":"a","S":"b"}}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		var v, again dynamodb.PutItemInput
		if err := dynamojson.DecodeInput(in, &v); err != nil {
			var api smithy.APIError
			if !errors.As(err, &api) {
				t.Fatalf("not an API error: %v", err)
			}
			return
		}
		if holdsEmpty(&types.AttributeValueMemberM{Value: v.Item}) {
			return // a value without a type is accepted, because the code that stores items refuses it, and it has no JSON form
		}
		if !json.Valid(in) {
			t.Fatal("took what is not JSON")
		}
		out := dynamojson.Append(nil, &v)
		if err := dynamojson.DecodeInput(out, &again); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if !reflect.DeepEqual(v, again) {
			t.Fatalf("changed on its way: %s", out)
		}
	})
}

// holdsEmpty reports whether an attribute value without a type is in a list or map.
func holdsEmpty(v types.AttributeValue) bool {
	switch v := v.(type) {
	case nil:
		return true
	case *types.AttributeValueMemberL:
		return slices.ContainsFunc(v.Value, holdsEmpty)
	case *types.AttributeValueMemberM:
		return slices.ContainsFunc(slices.Collect(maps.Values(v.Value)), holdsEmpty)
	}
	return false
}

func item(name string, v types.AttributeValue) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{name: v}
}

func put(v types.AttributeValue) *types.PutRequest { return &types.PutRequest{Item: item("v", v)} }

// sorted returns JSON with its keys in order and with its strings in Append's form.
func sorted(t *testing.T, text []byte) string {
	t.Helper()
	var v struct {
		Item map[string]json.RawMessage `json:"Item,omitempty"`
	}
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	if v.Item == nil {
		return string(text)
	}
	keys := make([]string, 0, len(v.Item))
	for k := range v.Item {
		keys = append(keys, k)
	}
	if len(keys) > 1 && keys[0] > keys[1] {
		keys[0], keys[1] = keys[1], keys[0]
	}
	var b strings.Builder
	for i, k := range keys {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(`"` + k + `":` + string(v.Item[k]))
	}
	return `{"Item":{` + b.String() + `}}`
}

func BenchmarkDecode(b *testing.B) {
	line := dynamojson.Append(nil, put(&types.AttributeValueMemberS{Value: strings.Repeat("x", 300)}))
	b.SetBytes(int64(len(line)))
	b.ReportAllocs()
	for b.Loop() {
		var v types.PutRequest
		if err := dynamojson.Decode(line, &v); err != nil {
			b.Fatal(err)
		}
	}
}

// TestStringsKeepLittle checks that a short string from a long text does not keep the text in
// memory.
func TestStringsKeepLittle(t *testing.T) {
	const texts, size = 32, 1 << 20
	used := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := used()
	var kept []*string
	for range texts {
		var in dynamodb.GetItemInput
		if err := dynamojson.DecodeInput([]byte(`{"TableName":"Items"}`+strings.Repeat(" ", size)), &in); err != nil {
			t.Fatal(err)
		}
		kept = append(kept, in.TableName)
	}
	if after := used(); after > before+texts*size/2 {
		t.Errorf("%d names keep %d bytes", len(kept), after-before)
	}
	runtime.KeepAlive(kept)
}
