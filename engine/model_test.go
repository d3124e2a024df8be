package engine_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/engine"
)

type item = map[string]types.AttributeValue

// model is the expected contents of the table "model": items by "pk|sk".
type model struct {
	t     *testing.T
	db    *engine.DB
	rng   *rand.Rand
	items map[string]item
	ctx   context.Context
}

func newModel(t *testing.T, db *engine.DB, seed uint64) *model {
	return newModelOf(t, db, modelTable(), seed)
}

func newModelOf(t *testing.T, db *engine.DB, in *dynamodb.CreateTableInput, seed uint64) *model {
	t.Logf("seed %d", seed)
	m := &model{t: t, db: db, rng: rand.New(rand.NewPCG(seed, 1)), items: map[string]item{}, ctx: context.Background()}
	if _, err := db.CreateTable(m.ctx, in); err != nil {
		t.Fatal(err)
	}
	return m
}

func (m *model) must(err error) {
	m.t.Helper()
	if err != nil {
		m.t.Fatal(err)
	}
}

func (m *model) key() item {
	return item{"pk": str(fmt.Sprintf("p%d", m.rng.IntN(6))), "sk": str(fmt.Sprintf("s%02d", m.rng.IntN(20)))}
}

func keyOf(it item) string {
	return it["pk"].(*types.AttributeValueMemberS).Value + "|" + it["sk"].(*types.AttributeValueMemberS).Value
}

// random returns an item with a few attributes, which is sometimes in the indexes.
func (m *model) random() item {
	it := m.key()
	it["v"] = &types.AttributeValueMemberN{Value: fmt.Sprint(m.rng.IntN(4))}
	if m.rng.IntN(2) == 0 {
		it["gsi1pk"] = str(fmt.Sprintf("g%d", m.rng.IntN(3)))
	}
	if m.rng.IntN(3) > 0 {
		it["gsi1sk"] = str(fmt.Sprintf("h%d", m.rng.IntN(5)))
	}
	for _, name := range []string{"a", "b", "c", "n"} {
		if m.rng.IntN(6) > 0 {
			it[name] = modelValue(m.rng, name)
		}
	}
	if m.rng.IntN(8) == 0 {
		it["filler"] = str(strings.Repeat("x", m.rng.IntN(3000)))
	}
	return it
}

// step makes one random write to the database and to the model.
func (m *model) step() {
	switch m.rng.IntN(10) {
	case 0, 1:
		it := m.random()
		_, err := m.db.PutItem(m.ctx, &dynamodb.PutItemInput{TableName: ptr("model"), Item: it})
		m.must(err)
		m.items[keyOf(it)] = it
	case 2:
		m.putAbsent()
	case 3:
		m.update()
	case 4:
		key := m.key()
		_, err := m.db.DeleteItem(m.ctx, &dynamodb.DeleteItemInput{TableName: ptr("model"), Key: key})
		m.must(err)
		delete(m.items, keyOf(key))
	case 5:
		m.batch()
	case 6:
		m.transact()
	case 7:
		m.putMany()
	case 8:
		m.get()
	case 9:
		m.getBatch()
	}
}

func (m *model) get() {
	key := m.key()
	out, err := m.db.GetItem(m.ctx, &dynamodb.GetItemInput{TableName: ptr("model"), Key: key})
	m.must(err)
	m.is(key, out.Item)
}

// is checks an item that was read under a key.
func (m *model) is(key, got item) {
	if want := m.items[keyOf(key)]; !reflect.DeepEqual(got, want) {
		m.t.Fatalf("%s is %v, want %v", keyOf(key), got, want)
	}
}

func (m *model) getBatch() {
	var keys []item
	for _, it := range m.distinct(20) {
		keys = append(keys, keyIn(it))
	}
	out, err := m.db.BatchGetItem(m.ctx, &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{"model": {Keys: keys}}})
	m.must(err)
	got := map[string]item{}
	for _, it := range out.Responses["model"] {
		got[keyOf(it)] = it
	}
	for _, key := range keys {
		m.is(key, got[keyOf(key)])
	}
}

// putMany puts several items in one call. Some have the condition that the item does not exist, and
// some have the key of another item.
func (m *model) putMany() {
	var ins []*dynamodb.PutItemInput
	for range 1 + m.rng.IntN(150) {
		in := &dynamodb.PutItemInput{TableName: ptr("model"), Item: m.random()}
		if m.rng.IntN(2) == 0 {
			in.ConditionExpression = ptr("attribute_not_exists(pk)")
		}
		ins = append(ins, in)
	}
	for i, err := range m.db.PutItems(m.ctx, ins) {
		k := keyOf(ins[i].Item)
		_, there := m.items[k]
		if refused := there && ins[i].ConditionExpression != nil; refused != dynamo.IsConditionFailed(err) {
			m.t.Fatalf("put of %s, which is there: %v; got %v", k, there, err)
		} else if !refused {
			m.must(err)
			m.items[k] = ins[i].Item
		}
	}
}

func (m *model) putAbsent() {
	it := m.random()
	_, err := m.db.PutItem(m.ctx, &dynamodb.PutItemInput{TableName: ptr("model"), Item: it, ConditionExpression: ptr("attribute_not_exists(pk)")})
	if _, there := m.items[keyOf(it)]; there != dynamo.IsConditionFailed(err) {
		m.t.Fatalf("put of %s, which is there: %v; got %v", keyOf(it), there, err)
	} else if !there {
		m.must(err)
		m.items[keyOf(it)] = it
	}
}

func (m *model) update() {
	key, group := m.key(), str(fmt.Sprintf("g%d", m.rng.IntN(3)))
	b := modelValue(m.rng, "b")
	_, err := m.db.UpdateItem(m.ctx, &dynamodb.UpdateItemInput{TableName: ptr("model"), Key: key, UpdateExpression: ptr("SET gsi1pk = :g, b = :b REMOVE filler, c"),
		ExpressionAttributeValues: item{":g": group, ":b": b}})
	m.must(err)
	it := maps.Clone(m.items[keyOf(key)])
	if it == nil {
		it = key
	}
	delete(it, "filler")
	delete(it, "c")
	it["gsi1pk"], it["b"] = group, b
	m.items[keyOf(key)] = it
}

// distinct returns up to n random items with different keys.
func (m *model) distinct(n int) []item {
	seen := map[string]bool{}
	var out []item
	for range n {
		if it := m.random(); !seen[keyOf(it)] {
			seen[keyOf(it)] = true
			out = append(out, it)
		}
	}
	return out
}

func keyIn(it item) item { return item{"pk": it["pk"], "sk": it["sk"]} }

func (m *model) batch() {
	var requests []types.WriteRequest
	for _, it := range m.distinct(8) {
		if m.rng.IntN(3) == 0 {
			requests = append(requests, types.WriteRequest{DeleteRequest: &types.DeleteRequest{Key: keyIn(it)}})
			delete(m.items, keyOf(it))
			continue
		}
		requests = append(requests, types.WriteRequest{PutRequest: &types.PutRequest{Item: it}})
		m.items[keyOf(it)] = it
	}
	_, err := m.db.BatchWriteItem(m.ctx, &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{"model": requests}})
	m.must(err)
}

// transact puts some items on the condition that one of them does not exist. It must write all or
// none.
func (m *model) transact() {
	items := m.distinct(4)
	_, there := m.items[keyOf(items[0])]
	var actions []types.TransactWriteItem
	for i, it := range items {
		p := &types.Put{TableName: ptr("model"), Item: it}
		if i == 0 {
			p.ConditionExpression = ptr("attribute_not_exists(pk)")
		}
		actions = append(actions, types.TransactWriteItem{Put: p})
	}
	_, err := m.db.TransactWriteItems(m.ctx, &dynamodb.TransactWriteItemsInput{TransactItems: actions, ClientRequestToken: ptr(fmt.Sprint(m.rng.Uint64()))})
	if _, cancelled := dynamo.CancellationReasons(err); cancelled != there {
		m.t.Fatalf("transaction on %s, which is there: %v; got %v", keyOf(items[0]), there, err)
	} else if !there {
		m.must(err)
		for _, it := range items {
			m.items[keyOf(it)] = it
		}
	}
}

// check compares everything that can be read with the model.
func (m *model) check() {
	m.t.Helper()
	got := map[string]item{}
	for _, it := range scanAll(m.t, m.db, "model", "") {
		got[keyOf(it)] = it
	}
	sameItems(m.t, "items", got, m.items)
	for _, x := range modelIndexes {
		x.check(m, m.items)
	}
	sameItems(m.t, "stream replayed", replay(m.t, m.db, "model"), m.items)
	m.checkQuery()
	out, err := m.db.DescribeTable(m.ctx, &dynamodb.DescribeTableInput{TableName: ptr("model")})
	m.must(err)
	if int(*out.Table.ItemCount) != len(m.items) {
		m.t.Errorf("the table counts %d items, want %d", *out.Table.ItemCount, len(m.items))
	}
}

// checkQuery queries a random range of a random partition of the table.
func (m *model) checkQuery() {
	part, low, high := fmt.Sprintf("p%d", m.rng.IntN(6)), fmt.Sprintf("s%02d", m.rng.IntN(10)), fmt.Sprintf("s%02d", 10+m.rng.IntN(10))
	in := &dynamodb.QueryInput{TableName: ptr("model"), KeyConditionExpression: ptr("pk = :p AND sk BETWEEN :a AND :b"), Limit: ptr(int32(3)),
		ExpressionAttributeValues: item{":p": str(part), ":a": str(low), ":b": str(high)}}
	got, last := map[string]item{}, ""
	for {
		out, err := m.db.Query(m.ctx, in)
		m.must(err)
		for _, it := range out.Items {
			if k := it["sk"].(*types.AttributeValueMemberS).Value; k < last {
				m.t.Errorf("%s after %s", k, last)
			} else {
				last = k
			}
			got[keyOf(it)] = it
		}
		if in.ExclusiveStartKey = out.LastEvaluatedKey; in.ExclusiveStartKey == nil {
			break
		}
	}
	want := map[string]item{}
	for k, it := range m.items {
		if r := it["sk"].(*types.AttributeValueMemberS).Value; it["pk"].(*types.AttributeValueMemberS).Value == part && r >= low && r <= high {
			want[k] = it
		}
	}
	sameItems(m.t, "query", got, want)
}

func sameItems(t testing.TB, what string, got, want map[string]item) {
	t.Helper()
	for _, k := range slices.Sorted(maps.Keys(want)) {
		if !reflect.DeepEqual(got[k], want[k]) {
			t.Fatalf("%s: %s is %v, want %v", what, k, got[k], want[k])
		}
	}
	if len(got) != len(want) {
		t.Fatalf("%s: %d items, want %d", what, len(got), len(want))
	}
}

func scanAll(t testing.TB, db *engine.DB, table, index string) []item {
	t.Helper()
	in := &dynamodb.ScanInput{TableName: &table, Limit: ptr(int32(17))}
	if index != "" {
		in.IndexName = &index
	}
	var all []item
	for {
		out, err := db.Scan(context.Background(), in)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, out.Items...)
		if in.ExclusiveStartKey = out.LastEvaluatedKey; in.ExclusiveStartKey == nil {
			return all
		}
	}
}

// replay applies every record of a table's stream, parents before children, and checks each old
// image on the way.
func replay(t testing.TB, db *engine.DB, table string) map[string]item {
	t.Helper()
	state := map[string]item{}
	for _, r := range streamRecords(t, db, table) {
		old, fresh := fromStream(t, r.Dynamodb.OldImage), fromStream(t, r.Dynamodb.NewImage)
		k := keyOf(fromStream(t, r.Dynamodb.Keys))
		if !reflect.DeepEqual(state[k], old) {
			t.Fatalf("record %s of %s: old image %v, but the records before make %v", *r.Dynamodb.SequenceNumber, k, old, state[k])
		}
		if fresh == nil {
			delete(state, k)
		} else {
			state[k] = fresh
		}
	}
	return state
}

func fromStream(t testing.TB, m map[string]streamtypes.AttributeValue) item {
	t.Helper()
	if m == nil {
		return nil
	}
	out, err := attributevalue.FromDynamoDBStreamsMap(m)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// streamRecords reads all shards of a table's latest stream.
func streamRecords(t testing.TB, db *engine.DB, table string) []streamtypes.Record {
	t.Helper()
	ctx := context.Background()
	desc, err := db.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &table})
	if err != nil {
		t.Fatal(err)
	}
	arn := desc.Table.LatestStreamArn
	in := &dynamodbstreams.DescribeStreamInput{StreamArn: arn, Limit: ptr(int32(3))}
	var all []streamtypes.Record
	for {
		out, err := db.DescribeStream(ctx, in)
		if err != nil {
			t.Fatal(err)
		}
		for _, sh := range out.StreamDescription.Shards {
			all = append(all, shardRecords(t, db, arn, sh)...)
		}
		if in.ExclusiveStartShardId = out.StreamDescription.LastEvaluatedShardId; in.ExclusiveStartShardId == nil {
			return all
		}
	}
}

func shardRecords(t testing.TB, db *engine.DB, arn *string, sh streamtypes.Shard) []streamtypes.Record {
	t.Helper()
	ctx := context.Background()
	it, err := db.GetShardIterator(ctx, &dynamodbstreams.GetShardIteratorInput{StreamArn: arn, ShardId: sh.ShardId, ShardIteratorType: streamtypes.ShardIteratorTypeTrimHorizon})
	if err != nil {
		t.Fatal(err)
	}
	var all []streamtypes.Record
	for next := it.ShardIterator; next != nil; {
		out, err := db.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: next, Limit: ptr(int32(50))})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, out.Records...)
		if next = out.NextShardIterator; next != nil && len(out.Records) == 0 {
			if sh.SequenceNumberRange.EndingSequenceNumber != nil {
				t.Fatalf("closed shard %s has a next iterator at its end", *sh.ShardId)
			}
			break
		}
	}
	return all
}

// TestModel compares the effects of random writes with a map, in memory and across reopening.
func TestModel(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	for i, o := range []engine.Options{{}, {StreamShards: 3, RollEvery: 40}} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			m := newModel(t, memory(t, o), seed)
			for range 20 {
				for range 60 {
					m.step()
				}
				m.check()
			}
		})
	}
	t.Run("reopened", func(t *testing.T) {
		o := engine.Options{NoSync: true, StreamShards: 2, RollEvery: 100, TTLInterval: -1}
		dir := t.TempDir()
		db, err := engine.Open(dir, o)
		if err != nil {
			t.Fatal(err)
		}
		m := newModel(t, db, seed)
		for range 5 {
			for range 100 {
				m.step()
			}
			m.must(m.db.Close())
			m.db, err = engine.Open(dir, o)
			m.must(err)
			m.check()
		}
		m.must(m.db.Close())
	})
}
