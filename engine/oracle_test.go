package engine_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
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
	"github.com/onefold/onefold/internal/seeds"
)

// oracleTables has tables of every shape: keys of all types, indexes of all projections, streams of
// all views.
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

// createOracleTable returns the request that creates a table.
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
	in := &dynamodb.CreateTableInput{TableName: &o.Name, BillingMode: types.BillingModePayPerRequest, KeySchema: schema(o.Hash, o.Range),
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

// compared sends the same requests to an engine and to the oracle.
type compared struct {
	t       *testing.T
	ctx     context.Context
	db      *engine.DB
	tables  [2]*comparedTable
	random  *oracle.Random // for the first table
	kind    string         // kind of the latest request
	request func() string  // returns the latest request, for failure messages
	token   string         // of the latest transaction that had one and was executed
	done    []*oracle.Write
	met     map[string]int // number of outcomes, by the kind of request and the code
}

// comparedTable is one of the tables that requests use. Most requests use the first table.
type comparedTable struct {
	oracle.Table
	random   *oracle.Random
	view     types.StreamViewType
	stream   *string
	iterator *string // into the stream, after the records that were compared
}

func newCompared(t *testing.T, seed uint64, met map[string]int) *compared {
	c := &compared{t: t, met: met, ctx: context.Background(), db: must[*engine.DB](t)(engine.OpenMemory(engine.Options{TTLInterval: -1, Clock: stopped(time.Now())}))}
	random := rand.New(rand.NewPCG(seed, 2))
	for i, name := range []string{"model", "other"} {
		shape := oracleTables[(seed+uint64(i))%uint64(len(oracleTables))]
		o := &comparedTable{Table: shape.table, view: shape.view}
		o.Name, o.Items = name, map[string]oracle.Item{}
		o.random = &oracle.Random{Rand: random, Table: &o.Table}
		desc := must[*dynamodb.CreateTableOutput](t)(c.db.CreateTable(c.ctx, createOracleTable(&o.Table, o.view))).TableDescription
		o.stream = desc.LatestStreamArn
		stream := must[*dynamodbstreams.DescribeStreamOutput](t)(c.db.DescribeStream(c.ctx, &dynamodbstreams.DescribeStreamInput{StreamArn: o.stream}))
		o.iterator = must[*dynamodbstreams.GetShardIteratorOutput](t)(c.db.GetShardIterator(c.ctx, &dynamodbstreams.GetShardIteratorInput{StreamArn: o.stream,
			ShardId: stream.StreamDescription.Shards[0].ShardId, ShardIteratorType: streamtypes.ShardIteratorTypeTrimHorizon})).ShardIterator
		c.tables[i] = o
	}
	c.random = c.tables[0].random
	return c
}

// same fails the test if the engine and the oracle differ in something.
func (c *compared) same(what string, got, want any) {
	c.t.Helper()
	if text, ok := got.(string); ok && text == want {
		return
	}
	if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w {
		c.t.Fatalf("%s %s\n%s is %.2000s\nwant %.2000s", c.kind, c.request(), what, g, w)
	}
}

// about records which request is compared.
func (c *compared) about(kind string, request func() string) { c.kind, c.request = kind, request }

// step sends one request to both and compares the results.
func (c *compared) step() {
	r := c.random
	switch n := r.IntN(2700); {
	case n < 3:
		c.atLimits(n)
	case n < 300:
		c.batch(plain(c.several("Put", "Delete")))
	case n < 600:
		c.transact(c.several("Put", "Update", "Update", "Delete", "Check"))
	case n < 900:
		c.puts(r.Several("Put"))
	case n < 1080:
		c.statement(r.Statement())
	case n < 1200:
		c.single(c.tables[1].random.Single())
	default:
		c.single(r.Single())
	}
	c.streams()
}

// several returns writes to the first table, or sometimes to both.
func (c *compared) several(verbs ...string) []*oracle.Write {
	writes := c.random.Several(verbs...)
	if c.random.IntN(4) == 0 {
		writes = append(writes, c.tables[1].random.Several(verbs...)...)
		c.random.Shuffle(len(writes), func(i, j int) { writes[i], writes[j] = writes[j], writes[i] })
	}
	return writes
}

// plain removes from writes what the writes of a batch cannot have.
func plain(writes []*oracle.Write) []*oracle.Write {
	for _, w := range writes {
		w.Condition, w.Stray = nil, ""
	}
	return writes
}

// atLimits sends requests that are as large as allowed, and requests that are one larger, and
// deletes what they have stored.
func (c *compared) atLimits(which int) {
	r, over := c.random, c.random.IntN(2)
	switch which {
	case 0:
		c.batch(r.Many("Put", 25+over, 0))
		c.batch(r.Many("Delete", 25, 0))
	case 1:
		n := 100 + over
		writes := r.Many("Put", n, 0)
		c.carry(writes, "", oracle.Transact)
		keys := types.KeysAndAttributes{}
		for _, w := range writes {
			keys.Keys = append(keys.Keys, w.Item)
		}
		out, err := c.db.BatchGetItem(c.ctx, &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{c.tables[0].Name: keys}})
		if over == 1 {
			c.failure(err, oracle.Outcome{Code: oracle.Invalid})
		} else {
			c.same("items of BatchGetItem", len(out.Responses[c.tables[0].Name]), n)
		}
		c.carry(r.Many("Delete", 100, 0), "", oracle.Transact)
	case 2:
		const most = 4 << 20 // bytes
		writes := r.Many("Put", 11, 400<<10)
		writes[10] = r.Many("Put", 11, most-10*(400<<10)+over)[10]
		c.carry(writes, "", oracle.Transact)
		c.carry(r.Many("Delete", 11, 0), "", oracle.Transact)
	}
}

// puts passes writes to PutItems, which must treat each as PutItem would.
func (c *compared) puts(writes []*oracle.Write) {
	c.about("puts", func() string { return fmt.Sprint(writes) })
	ins := make([]*dynamodb.PutItemInput, len(writes))
	for i, w := range writes {
		ins[i] = w.PutItem()
	}
	for i, err := range c.db.PutItems(c.ctx, ins) {
		c.failure(err, writes[i].On.Do(writes[i]))
	}
	c.items(writes)
}

func (c *compared) single(w *oracle.Write) {
	c.about(w.Verb, w.String)
	var consumed *types.ConsumedCapacity
	var metrics *types.ItemCollectionMetrics
	var attributes item
	var err error
	switch w.Verb {
	case "Put":
		var out *dynamodb.PutItemOutput
		if out, err = c.db.PutItem(c.ctx, w.PutItem()); err == nil {
			consumed, attributes, metrics = out.ConsumedCapacity, out.Attributes, out.ItemCollectionMetrics
		}
	case "Delete":
		var out *dynamodb.DeleteItemOutput
		if out, err = c.db.DeleteItem(c.ctx, w.DeleteItem()); err == nil {
			consumed, attributes, metrics = out.ConsumedCapacity, out.Attributes, out.ItemCollectionMetrics
		}
	default:
		var out *dynamodb.UpdateItemOutput
		if out, err = c.db.UpdateItem(c.ctx, w.UpdateItem()); err == nil {
			consumed, attributes, metrics = out.ConsumedCapacity, out.Attributes, out.ItemCollectionMetrics
		}
	}
	want := w.On.Do(w)
	c.failure(err, want)
	if err == nil {
		c.same("Attributes", oracle.ItemText(attributes), oracle.ItemText(want.Attributes))
		c.consumed(consumed, w.Units, want.Units)
		c.collection(metrics, w)
	}
	c.items([]*oracle.Write{w})
}

// statement sends a write to the engine as PartiQL.
func (c *compared) statement(w *oracle.Write) {
	in := w.ExecuteStatement()
	c.about("statement of "+w.Verb, func() string { return fmt.Sprint(*in.Statement, " as ", w) })
	out, err := c.db.ExecuteStatement(c.ctx, in)
	want := w.On.Execute(w)
	c.failure(err, want)
	if err == nil {
		c.consumed(out.ConsumedCapacity, w.Units, want.Units)
		var returned item
		if len(out.Items) > 0 {
			returned = out.Items[0]
		}
		if len(want.Attributes) == 0 {
			want.Attributes = nil // PartiQL returns no row when there are no attributes
		}
		c.same("Items", oracle.ItemText(returned), oracle.ItemText(want.Attributes))
	}
	c.items([]*oracle.Write{w})
}

func (c *compared) batch(writes []*oracle.Write) {
	c.about("batch", func() string { return fmt.Sprint(writes) })
	units := c.random.Units()
	out, err := c.db.BatchWriteItem(c.ctx, oracle.BatchWriteItem(writes, units))
	want := oracle.Batch(writes)
	c.failure(err, want)
	if err == nil {
		c.consumedByTables(out.ConsumedCapacity, units, want)
	}
	c.items(writes)
}

// stopped is a clock that stands still, so that no transaction token expires.
func stopped(at time.Time) func() time.Time { return func() time.Time { return at } }

// transact runs a transaction, sometimes with a token, and sometimes with the latest token again.
func (c *compared) transact(writes []*oracle.Write) {
	switch n := c.random.IntN(12); {
	case n == 0 && c.token != "":
		c.carry(c.done, c.token, oracle.Again)
	case n == 1 && c.token != "" && !sameRequest(writes, c.done) && oracle.Transactable(writes) && oracle.Keyed(writes):
		c.carry(writes, c.token, func([]*oracle.Write) oracle.Outcome { return oracle.Outcome{Code: oracle.Mismatch} })
	case n < 5:
		c.carry(writes, fmt.Sprint("token ", c.random.Uint64()), oracle.Transact)
	default:
		c.carry(writes, "", oracle.Transact)
	}
}

// sameRequest reports whether two transactions are the same request. Writes that differ only in a
// stray placeholder can produce the same request, because a write without an expression has no
// placeholders to spoil. Numbers may be spelled differently: the texts have their values.
func sameRequest(a, b []*oracle.Write) bool {
	return fmt.Sprint(a) == fmt.Sprint(b) || reflect.DeepEqual(oracle.TransactWriteItems(a, "").TransactItems, oracle.TransactWriteItems(b, "").TransactItems)
}

// carry runs a transaction with a token, unless it is empty, and expects the outcome that do
// returns.
func (c *compared) carry(writes []*oracle.Write, token string, do func([]*oracle.Write) oracle.Outcome) {
	units := c.random.Units()
	c.about("transaction", func() string { return fmt.Sprint(token, " ", writes) })
	in := oracle.TransactWriteItems(writes, units)
	if token != "" {
		in.ClientRequestToken = &token
	}
	out, err := c.db.TransactWriteItems(c.ctx, in)
	want := do(writes)
	c.failure(err, want)
	if err == nil {
		if c.consumedByTables(out.ConsumedCapacity, units, want); token != "" {
			c.token, c.done = token, writes
		}
	}
	c.items(writes)
}

// failure compares the error and its details.
func (c *compared) failure(err error, want oracle.Outcome) {
	c.t.Helper()
	var api smithy.APIError
	code := ""
	if errors.As(err, &api) {
		code = api.ErrorCode()
	} else if err != nil {
		code = err.Error()
	}
	if code != want.Code {
		c.same(fmt.Sprintf("error %.300v", err), code, want.Code)
	}
	c.met[c.kind+": "+want.Code]++
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

// consumed compares the consumed capacity that a request reports, in the form that the request
// asked for.
func (c *compared) consumed(got *types.ConsumedCapacity, how types.ReturnConsumedCapacity, want map[string]float64) {
	c.t.Helper()
	switch how {
	case types.ReturnConsumedCapacityIndexes:
		c.same("ConsumedCapacity", consumedBy(got), want)
	case types.ReturnConsumedCapacityTotal:
		total := 0.0
		for _, units := range want {
			total += units
		}
		c.same("total of ConsumedCapacity", *got.CapacityUnits, total)
		c.same("ConsumedCapacity of parts", []any{got.Table == nil, len(got.LocalSecondaryIndexes), len(got.GlobalSecondaryIndexes)}, []any{true, 0, 0})
	default:
		c.same("no ConsumedCapacity", got == nil, true)
	}
}

// consumedByTables compares the consumed capacity that a request with many writes reports.
func (c *compared) consumedByTables(got []types.ConsumedCapacity, how types.ReturnConsumedCapacity, want oracle.Outcome) {
	c.t.Helper()
	tables := map[string]*types.ConsumedCapacity{}
	for i := range got {
		tables[*got[i].TableName] = &got[i]
	}
	if len(got) > 0 {
		c.same("tables of ConsumedCapacity", len(got), len(want.Tables))
	}
	for name, units := range want.Tables {
		c.consumed(tables[name], how, units)
	}
}

// collection compares what a request reports about the item collection. Only tables with local
// indexes have item collections.
func (c *compared) collection(got *types.ItemCollectionMetrics, w *oracle.Write) {
	c.t.Helper()
	local := slices.ContainsFunc(w.On.Indexes, func(x oracle.Index) bool { return x.Local })
	if !local || w.Metric != types.ReturnItemCollectionMetricsSize {
		c.same("no ItemCollectionMetrics", got == nil, true)
		return
	}
	c.same("ItemCollectionKey", oracle.ItemText(got.ItemCollectionKey), oracle.ItemText(item{w.On.Hash.Name: w.Item[w.On.Hash.Name]}))
	c.same("SizeEstimateRangeGB", got.SizeEstimateRangeGB, []float64{0, 1})
}

// consumedBy returns the consumption of each index, and of the table under "".
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

// items compares the items that the writes concern, as far as they can have any.
func (c *compared) items(writes []*oracle.Write) {
	c.t.Helper()
	for _, w := range writes {
		out, err := c.db.GetItem(c.ctx, &dynamodb.GetItemInput{TableName: &w.On.Name, Key: w.On.KeyOf(w.Item)})
		if err == nil {
			c.same("item", oracle.ItemText(out.Item), oracle.ItemText(w.On.At(w.Item)))
		}
	}
}

// streams compares the records of the latest request.
func (c *compared) streams() {
	c.t.Helper()
	for i, o := range c.tables {
		if i == 0 || len(o.Records) > 0 {
			o.read(c)
		}
	}
}

func (o *comparedTable) read(c *compared) {
	c.t.Helper()
	var got, want []string
	for len(got) == 0 || len(got) < len(o.Records) { // read again for records beyond the page
		out := must[*dynamodbstreams.GetRecordsOutput](c.t)(c.db.GetRecords(c.ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: o.iterator}))
		o.iterator = out.NextShardIterator
		for _, r := range out.Records {
			got = append(got, recordText(string(r.EventName), fromStream(c.t, r.Dynamodb.Keys), fromStream(c.t, r.Dynamodb.OldImage), fromStream(c.t, r.Dynamodb.NewImage), *r.Dynamodb.SizeBytes))
		}
		if len(out.Records) == 0 {
			break
		}
	}
	for _, r := range o.Records {
		if o.view == types.StreamViewTypeKeysOnly || o.view == types.StreamViewTypeNewImage {
			r.Old = nil
		}
		if o.view == types.StreamViewTypeKeysOnly || o.view == types.StreamViewTypeOldImage {
			r.New = nil
		}
		want = append(want, recordText(r.Event, r.Key, r.Old, r.New, int64(oracle.Size(r.Key)+oracle.Size(r.Old)+oracle.Size(r.New))))
	}
	o.Records = nil
	slices.Sort(got) // a request that writes several items may write them in any order
	slices.Sort(want)
	c.same("stream", strings.Join(got, "\n"), strings.Join(want, "\n"))
}

func recordText(event string, key, old, fresh item, size int64) string {
	return fmt.Sprintf("%s %s %s -> %s (%d bytes)", event, oracle.ItemText(key), oracle.ItemText(old), oracle.ItemText(fresh), size)
}

// all compares all items and index entries.
func (c *compared) all() {
	c.t.Helper()
	for _, o := range c.tables {
		c.scan(&o.Table, "", o.Items)
		for _, x := range o.Indexes {
			c.scan(&o.Table, x.Name, o.Entries(x))
		}
	}
	noFindings(c.t, c.db)
}

func (c *compared) scan(o *oracle.Table, index string, want map[string]oracle.Item) {
	c.t.Helper()
	got := map[string]string{}
	for _, it := range scanAll(c.t, c.db, o.Name, index) {
		got[oracle.ItemText(o.KeyOf(it))] = oracle.ItemText(it)
	}
	texts := map[string]string{}
	for key, it := range want {
		texts[key] = oracle.ItemText(it)
	}
	c.same("scan of "+o.Name+" "+index, got, texts)
}

// TestOracle sends random requests to the engine and to a naive model of what DynamoDB documents.
// After each it compares answers, items, index entries, stream records, capacity and errors. One
// seed stands for 2,000 requests.
func TestOracle(t *testing.T) {
	n := 50
	if testing.Short() {
		n = 5
	}
	met := map[string]int{}
	for seed := range seeds.Each(t, n) {
		c := newCompared(t, seed, met)
		for i := range 2000 {
			if c.step(); i%250 == 0 {
				c.all()
			}
		}
		c.all()
		if err := c.db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("outcomes: %v", met)
}
