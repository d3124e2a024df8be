// Package dynamotest is the conformance suite for dynamo.API and dynamo.Streams. It holds the
// embedded engine, the wire protocol in front of it, and DynamoDB itself to the same cases. Only
// tests of implementations import it.
package dynamotest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sort"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/onefold/onefold/dynamo"
)

// Open returns the implementation under test, without tables. It registers its own cleanup.
type Open func(*testing.T) (dynamo.API, dynamo.Streams)

// Run runs all cases on an implementation. If streams are nil, their cases are skipped. except
// lists cases to skip, including their subcases, with reasons, for third-party implementations that
// lack features or respond incorrectly. An unknown name in except fails the test.
func Run(t *testing.T, open Open, except map[string]string) {
	t.Helper()
	met := map[string]bool{}
	for _, p := range parts() {
		t.Run(p.name, func(t *testing.T) {
			f := &fixture{T: t, ctx: context.Background(), name: p.name, except: except, met: met}
			f.skipExcepted()
			f.api, f.streams = open(t)
			p.run(f)
		})
	}
	for name := range except {
		if !met[name] && !t.Failed() {
			t.Errorf("there is no case %q to except", name)
		}
	}
}

// part is a group of cases with its own tables.
type part struct {
	name string
	run  func(*fixture)
}

func parts() []part {
	return []part{
		{"Tables", testTables}, {"Indexes", testIndexChanges}, {"TimeToLive", testTimeToLive},
		{"Put", testPut}, {"Get", testGet}, {"Delete", testDelete}, {"Update", testUpdate}, {"Conditions", testConditions},
		{"Numbers", testNumbers}, {"Keys", testKeys}, {"Limits", testLimits}, {"Legacy", testLegacy},
		{"Query", testQuery}, {"QueryIndex", testQueryIndex}, {"Scan", testScan}, {"Pages", testPages},
		{"BatchGet", testBatchGet}, {"BatchWrite", testBatchWrite}, {"TransactWrite", testTransactWrite}, {"TransactGet", testTransactGet},
		{"Statements", testStatements}, {"Capacity", testCapacity}, {"Order", testOrder}, {"Streams", testStreams},
	}
}

// fixture is the state of a running part of the suite.
type fixture struct {
	*testing.T
	ctx     context.Context
	api     dynamo.API
	streams dynamo.Streams

	name   string            // name of the case, starting with its part
	except map[string]string // names of cases to skip, with the reason
	met    map[string]bool   // names in except that occurred
}

// sub runs one case.
func (f *fixture) sub(name string, run func(*fixture)) {
	f.Run(name, func(t *testing.T) {
		c := *f
		c.T, c.name = t, f.name+"/"+name
		c.skipExcepted()
		run(&c)
	})
}

func (f *fixture) skipExcepted() {
	if why, ok := f.except[f.name]; ok {
		f.met[f.name] = true
		f.Skip("not held to this: " + why)
	}
}

// A is an item or map in Go types: string is S, int and num are N, []byte is B, bool is BOOL, nil
// is NULL, []any is L, A is M, and ss, ns and bs are sets.
type A map[string]any

type (
	num string
	ss  []string
	ns  []string
	bs  [][]byte
)

// item converts to the SDK's types.
func (a A) item() map[string]types.AttributeValue {
	if a == nil {
		return nil
	}
	m := make(map[string]types.AttributeValue, len(a))
	for k, v := range a {
		m[k] = value(v)
	}
	return m
}

func value(v any) types.AttributeValue {
	switch v := v.(type) {
	case string:
		return &types.AttributeValueMemberS{Value: v}
	case int:
		return &types.AttributeValueMemberN{Value: fmt.Sprint(v)}
	case num:
		return &types.AttributeValueMemberN{Value: string(v)}
	case []byte:
		return &types.AttributeValueMemberB{Value: v}
	case bool:
		return &types.AttributeValueMemberBOOL{Value: v}
	case nil:
		return &types.AttributeValueMemberNULL{Value: true}
	case []any:
		list := make([]types.AttributeValue, len(v))
		for i, e := range v {
			list[i] = value(e)
		}
		return &types.AttributeValueMemberL{Value: list}
	case A:
		return &types.AttributeValueMemberM{Value: v.item()}
	case ss:
		return &types.AttributeValueMemberSS{Value: v}
	case ns:
		return &types.AttributeValueMemberNS{Value: v}
	case bs:
		return &types.AttributeValueMemberBS{Value: v}
	case types.AttributeValue:
		return v
	}
	panic(fmt.Sprintf("dynamotest: %T is no attribute value", v))
}

// plain returns a value in comparable form, with sorted sets.
func plain(v types.AttributeValue) any {
	switch v := v.(type) {
	case *types.AttributeValueMemberSS:
		s := append([]string(nil), v.Value...)
		sort.Strings(s)
		return ss(s)
	case *types.AttributeValueMemberNS:
		s := append([]string(nil), v.Value...)
		sort.Strings(s)
		return ns(s)
	case *types.AttributeValueMemberL:
		list := make([]any, len(v.Value))
		for i, e := range v.Value {
			list[i] = plain(e)
		}
		return list
	case *types.AttributeValueMemberM:
		return plainItem(v.Value)
	case *types.AttributeValueMemberS:
		return v.Value
	case *types.AttributeValueMemberN:
		return num(v.Value)
	case *types.AttributeValueMemberB:
		return "B:" + string(v.Value)
	case *types.AttributeValueMemberBOOL:
		return v.Value
	case *types.AttributeValueMemberBS:
		var s []string
		for _, b := range v.Value {
			s = append(s, string(b))
		}
		sort.Strings(s)
		return strings.Join(s, "\x00")
	}
	return nil
}

func plainItem(m map[string]types.AttributeValue) map[string]any {
	out := make(map[string]any, len(m))
	for k, v := range m {
		out[k] = plain(v)
	}
	return out
}

// same fails unless an item is as expected; nil means no item.
func (f *fixture) same(what string, got map[string]types.AttributeValue, want A) {
	f.Helper()
	if want == nil {
		if got != nil {
			f.Errorf("%s: got %v, want no item", what, plainItem(got))
		}
		return
	}
	if got == nil {
		f.Errorf("%s: got no item, want %v", what, want)
		return
	}
	if g, w := plainItem(got), plainItem(want.item()); !reflect.DeepEqual(g, w) {
		f.Errorf("%s: got %v, want %v", what, g, w)
	}
}

// items compares lists of items.
func (f *fixture) items(what string, got []map[string]types.AttributeValue, want ...A) {
	f.Helper()
	if len(got) != len(want) {
		f.Errorf("%s: got %d items, want %d", what, len(got), len(want))
		return
	}
	for i := range got {
		f.same(fmt.Sprintf("%s[%d]", what, i), got[i], want[i])
	}
}

// ok stops the test if there is an error.
func (f *fixture) ok(err error) {
	f.Helper()
	if err != nil {
		f.Fatalf("unexpected error: %v", err)
	}
}

// refused fails unless err has the code and its message contains the text.
func (f *fixture) refused(err error, code, text string) {
	f.Helper()
	if err == nil {
		f.Errorf("no error, want %s: %s", code, text)
		return
	}
	var refused smithy.InvalidParamsError
	if code == dynamo.CodeValidation && errors.As(err, &refused) {
		return // the SDK's client rejected it first
	}
	if got := dynamo.Code(err); got != code {
		f.Errorf("got %s (%v), want %s", got, err, code)
	}
	var api smithy.APIError
	if errors.As(err, &api) && !strings.Contains(api.ErrorMessage(), text) {
		f.Errorf("got message %q, want %q in it", api.ErrorMessage(), text)
	}
}

// invalid fails unless err is a ValidationException whose message contains the text.
func (f *fixture) invalid(err error, text string) {
	f.Helper()
	f.refused(err, dynamo.CodeValidation, text)
}

func ptr[T any](v T) *T { return &v }

// define creates a table of string keys: "pk", or "pk sk".
func (f *fixture) define(name string, sortKey bool, change ...func(*dynamodb.CreateTableInput)) {
	f.Helper()
	in := &dynamodb.CreateTableInput{
		TableName: &name, BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: ptr("pk"), AttributeType: "S"}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: ptr("pk"), KeyType: "HASH"}},
	}
	if sortKey {
		in.AttributeDefinitions = append(in.AttributeDefinitions, types.AttributeDefinition{AttributeName: ptr("sk"), AttributeType: "S"})
		in.KeySchema = append(in.KeySchema, types.KeySchemaElement{AttributeName: ptr("sk"), KeyType: "RANGE"})
	}
	for _, c := range change {
		c(in)
	}
	_, err := f.api.CreateTable(f.ctx, in)
	f.ok(err)
	f.waitActive(name)
}

// waitActive waits until a table and its indexes are active.
func (f *fixture) waitActive(name string) {
	f.Helper()
	f.eventually(name+" is active", func() bool {
		out, err := f.api.DescribeTable(f.ctx, &dynamodb.DescribeTableInput{TableName: &name})
		f.ok(err)
		for _, x := range out.Table.GlobalSecondaryIndexes {
			if x.IndexStatus != types.IndexStatusActive {
				return false
			}
		}
		return out.Table.TableStatus == types.TableStatusActive
	})
}

// index adds a global index to a table's definition. Keys are of type S.
func index(name, hash, rng string, p types.ProjectionType, include ...string) func(*dynamodb.CreateTableInput) {
	return func(in *dynamodb.CreateTableInput) {
		x := types.GlobalSecondaryIndex{IndexName: &name, Projection: &types.Projection{ProjectionType: p, NonKeyAttributes: include}}
		x.KeySchema = indexKeys(in, hash, rng)
		in.GlobalSecondaryIndexes = append(in.GlobalSecondaryIndexes, x)
	}
}

// local adds a local index to a table's definition.
func local(name, rng string, p types.ProjectionType, include ...string) func(*dynamodb.CreateTableInput) {
	return func(in *dynamodb.CreateTableInput) {
		x := types.LocalSecondaryIndex{IndexName: &name, Projection: &types.Projection{ProjectionType: p, NonKeyAttributes: include}}
		x.KeySchema = indexKeys(in, "pk", rng)
		in.LocalSecondaryIndexes = append(in.LocalSecondaryIndexes, x)
	}
}

func indexKeys(in *dynamodb.CreateTableInput, names ...string) []types.KeySchemaElement {
	var ks []types.KeySchemaElement
	for i, n := range names {
		if n == "" {
			continue
		}
		kind := types.KeyTypeHash
		if i == 1 {
			kind = types.KeyTypeRange
		}
		ks = append(ks, types.KeySchemaElement{AttributeName: &n, KeyType: kind})
		defined := false
		for _, a := range in.AttributeDefinitions {
			defined = defined || *a.AttributeName == n
		}
		if !defined {
			in.AttributeDefinitions = append(in.AttributeDefinitions, types.AttributeDefinition{AttributeName: &n, AttributeType: "S"})
		}
	}
	return ks
}

// keyType sets the type of a key attribute.
func keyType(name string, t types.ScalarAttributeType) func(*dynamodb.CreateTableInput) {
	return func(in *dynamodb.CreateTableInput) {
		for i := range in.AttributeDefinitions {
			if *in.AttributeDefinitions[i].AttributeName == name {
				in.AttributeDefinitions[i].AttributeType = t
			}
		}
	}
}

// streamed gives a table a stream.
func streamed(view types.StreamViewType) func(*dynamodb.CreateTableInput) {
	return func(in *dynamodb.CreateTableInput) {
		in.StreamSpecification = &types.StreamSpecification{StreamEnabled: ptr(true), StreamViewType: view}
	}
}

// put stores an item.
func (f *fixture) put(table string, it A) {
	f.Helper()
	_, err := f.api.PutItem(f.ctx, &dynamodb.PutItemInput{TableName: &table, Item: it.item()})
	f.ok(err)
}

// get reads an item; nil if there is none.
func (f *fixture) get(table string, key A) map[string]types.AttributeValue {
	f.Helper()
	out, err := f.api.GetItem(f.ctx, &dynamodb.GetItemInput{TableName: &table, Key: key.item(), ConsistentRead: ptr(true)})
	f.ok(err)
	return out.Item
}
