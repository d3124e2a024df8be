package engine_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/onefold/onefold/engine"
	itemsize "github.com/onefold/onefold/engine/internal/item"
)

// held is a number of items or entries, and their size in bytes.
type held struct{ items, bytes int64 }

// described returns the counts that DescribeTable reports for the table and its indexes.
func described(t *testing.T, db *engine.DB) map[string]held {
	t.Helper()
	d := must[*dynamodb.DescribeTableOutput](t)(db.DescribeTable(context.Background(), &dynamodb.DescribeTableInput{TableName: ptr("table")})).Table
	told := map[string]held{"": {*d.ItemCount, *d.TableSizeBytes}}
	for _, x := range d.GlobalSecondaryIndexes {
		if x.IndexStatus != types.IndexStatusActive {
			told["building"] = held{}
		}
		told[*x.IndexName] = held{*x.ItemCount, *x.IndexSizeBytes}
	}
	for _, x := range d.LocalSecondaryIndexes {
		told[*x.IndexName] = held{*x.ItemCount, *x.IndexSizeBytes}
	}
	return told
}

// scanned counts what a scan of the table and of the same indexes finds.
func scanned(t *testing.T, db *engine.DB, names map[string]held) map[string]held {
	t.Helper()
	found := map[string]held{}
	for name := range names {
		in := &dynamodb.ScanInput{TableName: ptr("table")}
		if name != "" {
			in.IndexName = &name
		}
		var n held
		for more := true; more; more = in.ExclusiveStartKey != nil {
			out := must[*dynamodb.ScanOutput](t)(db.Scan(context.Background(), in))
			for _, it := range out.Items {
				n.items, n.bytes = n.items+1, n.bytes+int64(itemsize.Size(it))
			}
			in.ExclusiveStartKey = out.LastEvaluatedKey
		}
		found[name] = n
	}
	return found
}

// agree waits until the reported counts are the real ones. Unless something is counted in the
// background, they must be right at once.
func agree(t *testing.T, db *engine.DB, when string, patient bool) {
	t.Helper()
	for began := time.Now(); ; {
		told := described(t, db)
		_, building := told["building"]
		if !building {
			found := scanned(t, db, told)
			if fmt.Sprint(told) == fmt.Sprint(found) {
				return
			}
			if !patient || time.Since(began) > 10*time.Second {
				t.Fatalf("%s: told %v, there are %v", when, told, found)
			}
		}
	}
}

// countedTable has one index of each projection. One of them is local.
func countedTable() *dynamodb.CreateTableInput {
	in := tableInput("table")
	keys := func(hash, rng string) []types.KeySchemaElement {
		return []types.KeySchemaElement{{AttributeName: &hash, KeyType: types.KeyTypeHash}, {AttributeName: &rng, KeyType: types.KeyTypeRange}}
	}
	in.GlobalSecondaryIndexes = append(in.GlobalSecondaryIndexes, types.GlobalSecondaryIndex{IndexName: ptr("keys"), KeySchema: keys("gsi1sk", "gsi1pk"),
		Projection: &types.Projection{ProjectionType: types.ProjectionTypeKeysOnly}})
	in.LocalSecondaryIndexes = []types.LocalSecondaryIndex{{IndexName: ptr("local"), KeySchema: keys("pk", "gsi1pk"),
		Projection: &types.Projection{ProjectionType: types.ProjectionTypeInclude, NonKeyAttributes: []string{"v"}}}}
	return in
}

// shuffle makes random writes of every kind, including conditions that fail and transactions that
// are cancelled.
func shuffle(db *engine.DB, rng *rand.Rand, writes int, expires time.Time) {
	ctx, table := context.Background(), ptr("table")
	random := func() item {
		it := item{"pk": str(fmt.Sprint("p", rng.IntN(4))), "sk": str(fmt.Sprint("s", rng.IntN(8)))}
		for _, name := range []string{"gsi1pk", "gsi1sk", "v", "w"} {
			if rng.IntN(3) > 0 {
				it[name] = str(fmt.Sprint("x", rng.IntN(1000)))
			}
		}
		if rng.IntN(4) == 0 {
			it["ttl"] = seconds(expires)
		}
		return it
	}
	key := func() item { it := random(); return item{"pk": it["pk"], "sk": it["sk"]} }
	for range writes {
		switch rng.IntN(6) { // a refused write changes nothing, and no count
		case 0:
			_, _ = db.PutItem(ctx, &dynamodb.PutItemInput{TableName: table, Item: random()})
		case 1:
			_, _ = db.PutItem(ctx, &dynamodb.PutItemInput{TableName: table, Item: random(), ConditionExpression: ptr("attribute_not_exists(pk)")})
		case 2:
			_, _ = db.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: table, Key: key()})
		case 3:
			_, _ = db.UpdateItem(ctx, &dynamodb.UpdateItemInput{TableName: table, Key: key(), UpdateExpression: ptr("SET v = :v REMOVE gsi1pk"), ExpressionAttributeValues: item{":v": random()["pk"]}})
		case 4:
			_ = db.PutItems(ctx, []*dynamodb.PutItemInput{{TableName: table, Item: random()}, {TableName: table, Item: random(), ConditionExpression: ptr("attribute_exists(v)")}, {TableName: table, Item: random()}})
		case 5:
			_, _ = db.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{{Put: &types.Put{TableName: table, Item: random()}},
				{ConditionCheck: &types.ConditionCheck{TableName: table, Key: key(), ConditionExpression: ptr("attribute_exists(v)")}}, {Delete: &types.Delete{TableName: table, Key: key()}}}})
		}
	}
}

// TestCountsOfIndexes compares the counts that DescribeTable reports for indexes with the contents
// of the indexes. It does so after writes of all kinds, after expiry, while a new index is built,
// after an index is deleted, after closing, and after a crash.
func TestCountsOfIndexes(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	for _, delay := range []time.Duration{0, time.Second} {
		ctx, c, fs, rng := context.Background(), newClock(), vfs.NewCrashableMem(), rand.New(rand.NewPCG(seed, uint64(delay)))
		open := func(fs vfs.FS) *engine.DB {
			return must[*engine.DB](t)(engine.Open("data", engine.Options{FS: fs, Clock: c.now, IndexDelay: delay, TTLInterval: -1}))
		}
		db := open(fs)
		must[*dynamodb.CreateTableOutput](t)(db.CreateTable(ctx, countedTable()))
		enableTTL(t, db, "table")
		shuffle(db, rng, 300, c.now().Add(time.Hour))
		c.add(time.Minute) // to pass the index delay
		agree(t, db, "written", false)
		c.add(2 * time.Hour)
		must[int](t)(db.ExpireNow(ctx))
		shuffle(db, rng, 50, c.now().Add(time.Hour))
		c.add(time.Minute)
		agree(t, db, "expired", false)
		addIndexUnderWrites(t, db, rng, c)
		agree(t, db, "index added", true)
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		db = open(fs)
		agree(t, db, "closed and opened", false)
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		forgetEntries(t, fs)
		db = open(fs)
		agree(t, db, "of a time when entries were not counted", true)
		must[*dynamodb.UpdateTableOutput](t)(db.UpdateTable(ctx, &dynamodb.UpdateTableInput{TableName: ptr("table"),
			GlobalSecondaryIndexUpdates: []types.GlobalSecondaryIndexUpdate{{Delete: &types.DeleteGlobalSecondaryIndexAction{IndexName: ptr("keys")}}}}))
		agree(t, db, "index dropped", false)
		crashed := open(fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 0}))
		shuffle(crashed, rng, 100, c.now().Add(time.Hour))
		c.add(time.Minute)
		agree(t, crashed, "after a crash", true)
		for _, db := range []*engine.DB{db, crashed} {
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// forgetEntries removes the stored index counts from a closed database.
func forgetEntries(t *testing.T, fs vfs.FS) {
	t.Helper()
	store := must[*pebble.DB](t)(pebble.Open("data", &pebble.Options{FS: fs}))
	if err := store.DeleteRange([]byte{1, 'e'}, []byte{1, 'f'}, pebble.Sync); err != nil {
		t.Error(err)
	}
	if err := store.Close(); err != nil {
		t.Error(err)
	}
}

// addIndexUnderWrites adds an index while two goroutines write.
func addIndexUnderWrites(t *testing.T, db *engine.DB, rng *rand.Rand, c *clock) {
	t.Helper()
	var writers sync.WaitGroup
	for range 2 {
		own := rand.New(rand.NewPCG(rng.Uint64(), 0))
		writers.Go(func() { shuffle(db, own, 200, c.now().Add(time.Hour)) })
	}
	must[*dynamodb.UpdateTableOutput](t)(db.UpdateTable(context.Background(), &dynamodb.UpdateTableInput{TableName: ptr("table"),
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: ptr("w"), AttributeType: types.ScalarAttributeTypeS}},
		GlobalSecondaryIndexUpdates: []types.GlobalSecondaryIndexUpdate{{Create: &types.CreateGlobalSecondaryIndexAction{IndexName: ptr("late"),
			KeySchema:  []types.KeySchemaElement{{AttributeName: ptr("w"), KeyType: types.KeyTypeHash}},
			Projection: &types.Projection{ProjectionType: types.ProjectionTypeKeysOnly}}}}}))
	writers.Wait()
	c.add(time.Minute)
}
