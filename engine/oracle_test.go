package engine_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/aws/smithy-go"

	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/engine/internal/oracle"
)

// oracleTables are tables of every shape: keys of all types, indexes of all projections, streams of all views.
var oracleTables = []struct {
	view  types.StreamViewType
	table oracle.Table
}{
	{types.StreamViewTypeNewAndOldImages, oracle.Table{Hash: oracle.Key{Name: "pk", Type: "S"}, Range: oracle.Key{Name: "sk", Type: "N"}, Indexes: []oracle.Index{
		{Name: "local", Local: true, Hash: oracle.Key{Name: "pk", Type: "S"}, Range: oracle.Key{Name: "h", Type: "N"}},
		{Name: "all", Hash: oracle.Key{Name: "g", Type: "S"}, Range: oracle.Key{Name: "h", Type: "N"}, All: true},
		{Name: "some", Hash: oracle.Key{Name: "g", Type: "S"}, Include: []string{"s", "nu"}},
	}}},
	{types.StreamViewTypeNewImage, oracle.Table{Hash: oracle.Key{Name: "pk", Type: "B"}, Range: oracle.Key{Name: "sk", Type: "S"}, Indexes: []oracle.Index{
		{Name: "turned", Hash: oracle.Key{Name: "sk", Type: "S"}, Range: oracle.Key{Name: "pk", Type: "B"}},
	}}},
	{types.StreamViewTypeKeysOnly, oracle.Table{Hash: oracle.Key{Name: "pk", Type: "N"}}},
	{types.StreamViewTypeOldImage, oracle.Table{Hash: oracle.Key{Name: "pk", Type: "S"}, Indexes: []oracle.Index{
		{Name: "keys", Hash: oracle.Key{Name: "h", Type: "N"}},
	}}},
}

// createOracleTable is the request that makes a table.
func createOracleTable(o *oracle.Table, view types.StreamViewType) *dynamodb.CreateTableInput {
	kinds := map[string]string{}
	schema := func(hash, rng oracle.Key) (ks []types.KeySchemaElement) {
		kinds[hash.Name] = hash.Type
		ks = append(ks, types.KeySchemaElement{AttributeName: &hash.Name, KeyType: types.KeyTypeHash})
		if rng.Name != "" {
			kinds[rng.Name] = rng.Type
			ks = append(ks, types.KeySchemaElement{AttributeName: &rng.Name, KeyType: types.KeyTypeRange})
		}
		return ks
	}
	in := &dynamodb.CreateTableInput{TableName: ptr("model"), BillingMode: types.BillingModePayPerRequest, KeySchema: schema(o.Hash, o.Range),
		StreamSpecification: &types.StreamSpecification{StreamEnabled: ptr(true), StreamViewType: view}}
	for _, x := range o.Indexes {
		p := &types.Projection{ProjectionType: types.ProjectionTypeKeysOnly}
		if x.All {
			p.ProjectionType = types.ProjectionTypeAll
		} else if x.Include != nil {
			p.ProjectionType, p.NonKeyAttributes = types.ProjectionTypeInclude, x.Include
		}
		if x.Local {
			in.LocalSecondaryIndexes = append(in.LocalSecondaryIndexes, types.LocalSecondaryIndex{IndexName: &x.Name, KeySchema: schema(x.Hash, x.Range), Projection: p})
		} else {
			in.GlobalSecondaryIndexes = append(in.GlobalSecondaryIndexes, types.GlobalSecondaryIndex{IndexName: &x.Name, KeySchema: schema(x.Hash, x.Range), Projection: p})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		in.AttributeDefinitions = append(in.AttributeDefinitions, types.AttributeDefinition{AttributeName: &name, AttributeType: types.ScalarAttributeType(kinds[name])})
	}
	return in
}

// compared is an engine and the oracle, which are given the same requests.
type compared struct {
	t        *testing.T
	ctx      context.Context
	db       *engine.DB
	table    *oracle.Table
	random   *oracle.Random
	view     types.StreamViewType
	iterator *string // of the stream, after what was compared
	request  string  // the latest, for failures
}

func newCompared(t *testing.T, seed uint64) *compared {
	shape := oracleTables[seed%uint64(len(oracleTables))]
	table := shape.table
	table.Items = map[string]oracle.Item{}
	c := &compared{t: t, ctx: context.Background(), table: &table, view: shape.view,
		random: &oracle.Random{Rand: rand.New(rand.NewPCG(seed, 2)), Table: &table}}
	c.db = must[*engine.DB](t)(engine.OpenMemory(engine.Options{TTLInterval: -1}))
	desc := must[*dynamodb.CreateTableOutput](t)(c.db.CreateTable(c.ctx, createOracleTable(&table, shape.view))).TableDescription
	stream := must[*dynamodbstreams.DescribeStreamOutput](t)(c.db.DescribeStream(c.ctx, &dynamodbstreams.DescribeStreamInput{StreamArn: desc.LatestStreamArn}))
	c.iterator = must[*dynamodbstreams.GetShardIteratorOutput](t)(c.db.GetShardIterator(c.ctx, &dynamodbstreams.GetShardIteratorInput{StreamArn: desc.LatestStreamArn,
		ShardId: stream.StreamDescription.Shards[0].ShardId, ShardIteratorType: streamtypes.ShardIteratorTypeTrimHorizon})).ShardIterator
	return c
}

// same fails the test when the engine and the oracle differ in something.
func (c *compared) same(what string, got, want any) {
	c.t.Helper()
	if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w {
		c.t.Fatalf("%s\n%s is %.2000s\nwant %.2000s", c.request, what, g, w)
	}
}

// step carries out one request on both and compares what it did.
func (c *compared) step() {
	r := c.random
	switch r.IntN(9) {
	case 0:
		writes := r.Several("Put", "Delete")
		for _, w := range writes {
			w.Condition = nil
		}
		c.batch(writes)
	case 1:
		c.transact(r.Several("Put", "Update", "Update", "Delete", "Check"))
	case 2:
		c.puts(r.Several("Put"))
	default:
		c.single(r.Single())
	}
	c.stream()
}

// puts gives puts to PutItems, which does with each what PutItem would.
func (c *compared) puts(writes []*oracle.Write) {
	c.request = fmt.Sprint("puts ", writes)
	ins := make([]*dynamodb.PutItemInput, len(writes))
	for i, w := range writes {
		ins[i] = w.PutItem("model")
	}
	for i, err := range c.db.PutItems(c.ctx, ins) {
		c.failure(err, c.table.Do(writes[i]))
	}
	c.items(writes)
}

func (c *compared) single(w *oracle.Write) {
	c.request = w.String()
	var consumed *types.ConsumedCapacity
	var attributes item
	var err error
	switch w.Verb {
	case "Put":
		var out *dynamodb.PutItemOutput
		if out, err = c.db.PutItem(c.ctx, w.PutItem("model")); err == nil {
			consumed, attributes = out.ConsumedCapacity, out.Attributes
		}
	case "Delete":
		var out *dynamodb.DeleteItemOutput
		if out, err = c.db.DeleteItem(c.ctx, w.DeleteItem("model")); err == nil {
			consumed, attributes = out.ConsumedCapacity, out.Attributes
		}
	default:
		var out *dynamodb.UpdateItemOutput
		if out, err = c.db.UpdateItem(c.ctx, w.UpdateItem("model")); err == nil {
			consumed, attributes = out.ConsumedCapacity, out.Attributes
		}
	}
	want := c.table.Do(w)
	c.failure(err, want)
	if err == nil {
		c.same("Attributes", oracle.ItemText(attributes), oracle.ItemText(want.Attributes))
		c.same("ConsumedCapacity", consumedBy(consumed), want.Units)
	}
	c.items([]*oracle.Write{w})
}

func (c *compared) batch(writes []*oracle.Write) {
	c.request = fmt.Sprint("batch ", writes)
	out, err := c.db.BatchWriteItem(c.ctx, oracle.BatchWriteItem("model", writes))
	want := c.table.Batch(writes)
	c.failure(err, want)
	if err == nil {
		c.same("ConsumedCapacity", consumedBy(&out.ConsumedCapacity[0]), want.Units)
	}
	c.items(writes)
}

func (c *compared) transact(writes []*oracle.Write) {
	c.request = fmt.Sprint("transaction ", writes)
	out, err := c.db.TransactWriteItems(c.ctx, oracle.TransactWriteItems("model", writes))
	want := c.table.Transact(writes)
	c.failure(err, want)
	if err == nil {
		c.same("ConsumedCapacity", consumedBy(&out.ConsumedCapacity[0]), want.Units)
	}
	c.items(writes)
}

// failure compares the error, and what it tells.
func (c *compared) failure(err error, want oracle.Outcome) {
	c.t.Helper()
	var api smithy.APIError
	code := ""
	if errors.As(err, &api) {
		code = api.ErrorCode()
	} else if err != nil {
		code = err.Error()
	}
	c.same(fmt.Sprintf("error %.300v", err), code, want.Code)
	var failed *types.ConditionalCheckFailedException
	var cancelled *types.TransactionCanceledException
	switch {
	case errors.As(err, &failed):
		c.same("Item", oracle.ItemText(failed.Item), oracle.ItemText(want.Told[0]))
	case errors.As(err, &cancelled):
		var reasons []string
		for i, reason := range cancelled.CancellationReasons {
			reasons = append(reasons, *reason.Code)
			c.same("Item of a reason", oracle.ItemText(reason.Item), oracle.ItemText(want.Told[i]))
		}
		c.same("reasons", reasons, want.Reasons)
	}
}

// consumedBy returns what each index took, and the table for "".
func consumedBy(cc *types.ConsumedCapacity) map[string]float64 {
	units := map[string]float64{"": *cc.Table.CapacityUnits}
	total := *cc.Table.CapacityUnits
	for _, of := range []map[string]types.Capacity{cc.LocalSecondaryIndexes, cc.GlobalSecondaryIndexes} {
		for name, u := range of {
			units[name] = *u.CapacityUnits
			total += *u.CapacityUnits
		}
	}
	if total != *cc.CapacityUnits {
		units["total"] = *cc.CapacityUnits
	}
	return units
}

// items compares the items that writes are about, as far as they can have any.
func (c *compared) items(writes []*oracle.Write) {
	c.t.Helper()
	for _, w := range writes {
		out, err := c.db.GetItem(c.ctx, &dynamodb.GetItemInput{TableName: ptr("model"), Key: c.table.KeyOf(w.Item)})
		if err == nil {
			c.same("item", oracle.ItemText(out.Item), oracle.ItemText(c.table.At(w.Item)))
		}
	}
}

// stream compares the records that the latest request has made.
func (c *compared) stream() {
	c.t.Helper()
	out := must[*dynamodbstreams.GetRecordsOutput](c.t)(c.db.GetRecords(c.ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: c.iterator}))
	c.iterator = out.NextShardIterator
	var got, want []string
	for _, r := range out.Records {
		got = append(got, recordText(string(r.EventName), fromStream(c.t, r.Dynamodb.Keys), fromStream(c.t, r.Dynamodb.OldImage), fromStream(c.t, r.Dynamodb.NewImage), *r.Dynamodb.SizeBytes))
	}
	for _, r := range c.table.Records {
		if c.view == types.StreamViewTypeKeysOnly || c.view == types.StreamViewTypeNewImage {
			r.Old = nil
		}
		if c.view == types.StreamViewTypeKeysOnly || c.view == types.StreamViewTypeOldImage {
			r.New = nil
		}
		want = append(want, recordText(r.Event, r.Key, r.Old, r.New, int64(oracle.Size(r.Key)+oracle.Size(r.Old)+oracle.Size(r.New))))
	}
	c.table.Records = nil
	slices.Sort(got) // a request that writes several items may do so in any order
	slices.Sort(want)
	c.same("stream", strings.Join(got, "\n"), strings.Join(want, "\n"))
}

func recordText(event string, key, old, fresh item, size int64) string {
	return fmt.Sprintf("%s %s %s -> %s (%d bytes)", event, oracle.ItemText(key), oracle.ItemText(old), oracle.ItemText(fresh), size)
}

// all compares all items and entries.
func (c *compared) all() {
	c.t.Helper()
	c.scan("", c.table.Items)
	for _, x := range c.table.Indexes {
		c.scan(x.Name, c.table.Entries(x))
	}
	noFindings(c.t, c.db)
}

func (c *compared) scan(index string, want map[string]oracle.Item) {
	c.t.Helper()
	got := map[string]string{}
	for _, it := range scanAll(c.t, c.db, "model", index) {
		got[oracle.ItemText(c.table.KeyOf(it))] = oracle.ItemText(it)
	}
	texts := map[string]string{}
	for key, it := range want {
		texts[key] = oracle.ItemText(it)
	}
	c.same("scan of "+index, got, texts)
}

// TestOracle gives random requests to the engine and to a naive model of what DynamoDB documents, and compares answers,
// items, index entries, stream records, capacity and errors after each. ONEFOLD_ORACLE_REQUESTS says how many, and
// ONEFOLD_ORACLE_SEED repeats a run.
func TestOracle(t *testing.T) {
	requests, seed := uint64(100_000), uint64(time.Now().UnixNano())
	if testing.Short() {
		requests = 10_000
	}
	for name, into := range map[string]*uint64{"ONEFOLD_ORACLE_REQUESTS": &requests, "ONEFOLD_ORACLE_SEED": &seed} {
		if text := os.Getenv(name); text != "" {
			*into = must[uint64](t)(strconv.ParseUint(text, 10, 64))
		}
	}
	t.Logf("seed %d", seed)
	const each = 2000 // requests on one table
	for n := uint64(0); n < requests; n += each {
		c := newCompared(t, seed+n/each)
		for i := range each {
			if c.step(); i%250 == 0 {
				c.all()
			}
		}
		c.all()
		if err := c.db.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
