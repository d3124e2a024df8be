package engine_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/engine"
)

const crashWriters = 8

// crashRun writes from several goroutines. Each writes the values 1, 2, 3… to its own item, and
// also writes new items. crashRun records which writes were acknowledged.
type crashRun struct {
	db    *engine.DB
	acked [crashWriters]atomic.Int64
	sent  [crashWriters]atomic.Int64
	stop  atomic.Bool
	wg    sync.WaitGroup
	errs  chan error
}

func startWriters(db *engine.DB, from [crashWriters]int64) *crashRun {
	r := &crashRun{db: db, errs: make(chan error, crashWriters)}
	for w := range crashWriters {
		r.acked[w].Store(from[w])
		r.sent[w].Store(from[w])
		r.wg.Go(func() {
			for n := from[w] + 1; !r.stop.Load(); n++ {
				r.sent[w].Store(n)
				if err := r.write(w, n); err != nil {
					r.errs <- err
					return
				}
				r.acked[w].Store(n)
			}
		})
	}
	return r
}

// write stores the value n in the item of writer w, and a new event, either in one transaction or
// one after the other.
func (r *crashRun) write(w int, n int64) error {
	ctx := context.Background()
	counter := item{"pk": str(fmt.Sprint("w", w)), "sk": str("COUNTER"), "n": &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)},
		"gsi1pk": str("counters"), "gsi1sk": str(fmt.Sprintf("%d#%09d", w, n))}
	event := item{"pk": str(fmt.Sprint("w", w)), "sk": str(fmt.Sprintf("EVENT#%09d", n))}
	if n%3 == 0 {
		_, err := r.db.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{ClientRequestToken: ptr(fmt.Sprint(w, "-", n)), TransactItems: []types.TransactWriteItem{
			{Put: &types.Put{TableName: ptr("crash"), Item: counter}}, {Put: &types.Put{TableName: ptr("crash"), Item: event}}}})
		return err
	}
	if n%3 == 1 {
		return errors.Join(r.db.PutItems(ctx, []*dynamodb.PutItemInput{{TableName: ptr("crash"), Item: event}, {TableName: ptr("crash"), Item: counter}})...)
	}
	if _, err := r.db.PutItem(ctx, &dynamodb.PutItemInput{TableName: ptr("crash"), Item: event}); err != nil {
		return err
	}
	_, err := r.db.PutItem(ctx, &dynamodb.PutItemInput{TableName: ptr("crash"), Item: counter})
	return err
}

func (r *crashRun) end(t *testing.T) {
	t.Helper()
	r.stop.Store(true)
	r.wg.Wait()
	select {
	case err := <-r.errs:
		t.Fatal(err)
	default:
	}
}

// TestCrash takes the disk away in the middle of writing, with some or none of the unsynced data,
// and checks the database that opens again. Every acknowledged write must be there, and items,
// index and stream must agree.
func TestCrash(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 2))
	fs := vfs.NewCrashableMem()
	options := func() engine.Options {
		return engine.Options{FS: fs, StreamShards: 2, RollEvery: 50, MemTableBytes: 64 << 10, TTLInterval: -1}
	}
	db, err := engine.Open("data", options())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.CreateTable(context.Background(), tableInput("crash")); err != nil {
		t.Fatal(err)
	}
	var from [crashWriters]int64
	for range 8 {
		r := startWriters(db, from)
		for total := int64(0); total < int64(200+rng.IntN(300)); {
			total = 0
			for w := range crashWriters {
				total += r.acked[w].Load() - from[w]
			}
		}
		var acked [crashWriters]int64
		for w := range acked {
			acked[w] = r.acked[w].Load()
		}
		clone := fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: rng.IntN(2) * rng.IntN(100), RNG: rng})
		r.end(t)
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		fs = clone
		if db, err = engine.Open("data", options()); err != nil {
			t.Fatal(err)
		}
		from = checkCrash(t, db, r, acked)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// checkCrash checks the contents after a crash and returns each writer's value.
func checkCrash(t *testing.T, db *engine.DB, r *crashRun, acked [crashWriters]int64) (values [crashWriters]int64) {
	t.Helper()
	items, counters := map[string]item{}, map[string]item{}
	for _, it := range scanAll(t, db, "crash", "") {
		items[keyOf(it)] = it
		if it["gsi1pk"] != nil {
			counters[keyOf(it)] = it
		}
	}
	for w := range values {
		it := items[fmt.Sprintf("w%d|COUNTER", w)]
		if it == nil && acked[w] == 0 {
			continue
		}
		if it == nil {
			t.Fatalf("writer %d: its item is gone; %d was acknowledged", w, acked[w])
		}
		n, err := strconv.ParseInt(it["n"].(*types.AttributeValueMemberN).Value, 10, 64)
		if err != nil || n < acked[w] || n > r.sent[w].Load() {
			t.Fatalf("writer %d: %d (%v), although %d was acknowledged and %d was the last sent", w, n, err, acked[w], r.sent[w].Load())
		}
		for e := int64(1); e <= n; e++ {
			if items[fmt.Sprintf("w%d|EVENT#%09d", w, e)] == nil {
				t.Fatalf("writer %d: event %d is lost, although the counter says %d", w, e, n)
			}
		}
		values[w] = n
	}
	indexed := map[string]item{}
	for _, it := range scanAll(t, db, "crash", "gsi1") {
		indexed[keyOf(it)] = it
	}
	sameItems(t, "index", indexed, counters)
	awaitCount(t, db, "crash", len(items))
	sameItems(t, "stream replayed", replay(t, db, "crash"), items)
	checkClean(t, db)
	return values
}

// awaitCount waits until a table reports its number of items after a crash.
func awaitCount(t *testing.T, db *engine.DB, table string, want int) {
	t.Helper()
	for begin := time.Now(); ; {
		out := must[*dynamodb.DescribeTableOutput](t)(db.DescribeTable(context.Background(), &dynamodb.DescribeTableInput{TableName: &table}))
		if int(*out.Table.ItemCount) == want {
			return
		}
		if time.Since(begin) > 10*time.Second {
			t.Fatalf("%s tells %d items, there are %d", table, *out.Table.ItemCount, want)
		}
	}
}

// TestDuplicateIsDurable crashes right after a put was refused because the item exists. The item
// must still be there afterwards.
func TestDuplicateIsDurable(t *testing.T) {
	fs := vfs.NewCrashableMem()
	db, err := engine.Open("data", engine.Options{FS: fs, TTLInterval: -1})
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	if _, err := db.CreateTable(ctx, tableInput("crash")); err != nil {
		t.Fatal(err)
	}
	for i := range 50 {
		it := item{"pk": str("same"), "sk": str(fmt.Sprint(i))}
		in := &dynamodb.PutItemInput{TableName: ptr("crash"), Item: it, ConditionExpression: ptr("attribute_not_exists(pk)")}
		clones := make(chan *vfs.MemFS, 2)
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				if _, err := db.PutItem(ctx, in); err != nil && !dynamo.IsConditionFailed(err) {
					t.Error(err)
				}
				clones <- fs.CrashClone(vfs.CrashCloneCfg{})
			})
		}
		wg.Wait()
		if i%10 == 0 {
			for range 2 {
				mustHave(t, <-clones, it)
			}
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

func mustHave(t *testing.T, fs vfs.FS, it item) {
	t.Helper()
	db, err := engine.Open("data", engine.Options{FS: fs, TTLInterval: -1})
	if err != nil {
		t.Fatal(err)
	}
	out, err := db.GetItem(context.Background(), &dynamodb.GetItemInput{TableName: ptr("crash"), Key: it})
	if err != nil || out.Item == nil {
		t.Errorf("%s: told that it is there, and it is not after a crash (%v)", keyOf(it), err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestExpiryIsDurable crashes right after items were reported as expired. They must be gone, and
// must not be counted.
func TestExpiryIsDurable(t *testing.T) {
	ctx, c, fs := context.Background(), newClock(), vfs.NewCrashableMem()
	db := must[*engine.DB](t)(engine.Open("data", engine.Options{FS: fs, Clock: c.now, TTLInterval: -1}))
	must[*dynamodb.CreateTableOutput](t)(db.CreateTable(ctx, tableInput("crash")))
	enableTTL(t, db, "crash")
	for i := range 300 {
		putItem(t, db, "crash", item{"pk": str("a"), "sk": str(strconv.Itoa(i)), "ttl": seconds(c.now().Add(time.Minute))})
	}
	putItem(t, db, "crash", item{"pk": str("a"), "sk": str("stays")})
	c.add(time.Hour)
	if n, err := db.ExpireNow(ctx); n != 300 || err != nil {
		t.Fatalf("%d items expired, %v", n, err)
	}
	clone := fs.CrashClone(vfs.CrashCloneCfg{})
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	db = must[*engine.DB](t)(engine.Open("data", engine.Options{FS: clone, Clock: c.now, TTLInterval: -1}))
	if left := scanAll(t, db, "crash", ""); len(left) != 1 {
		t.Errorf("%d items are left after a crash, want 1", len(left))
	}
	awaitCount(t, db, "crash", 1)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestPutItemsPassDamage puts several items, one of which replaces a damaged row. The other items
// must be stored.
func TestPutItemsPassDamage(t *testing.T) {
	ctx, db := context.Background(), memory(t, engine.Options{})
	must[*dynamodb.CreateTableOutput](t)(db.CreateTable(ctx, tableInput("table")))
	var ins []*dynamodb.PutItemInput
	for i := range 5 {
		it := item{"pk": str("a"), "sk": str(strconv.Itoa(i)), "gsi1pk": str("g"), "gsi1sk": str("s")}
		putItem(t, db, "table", it)
		ins = append(ins, &dynamodb.PutItemInput{TableName: ptr("table"), Item: it, ConditionExpression: ptr("attribute_exists(pk)")})
	}
	store := engine.StoreOf(db)
	it := must[*pebble.Iterator](t)(store.NewIter(&pebble.IterOptions{LowerBound: []byte{0x10}, UpperBound: []byte{0x11}}))
	for ok := it.First(); ok; ok = it.Next() {
		if bytes.Contains(it.Key(), []byte("\x203")) { // the sort key is 3
			if err := store.Set(it.Key(), []byte{1, 0xff}, pebble.NoSync); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := it.Close(); err != nil {
		t.Fatal(err)
	}
	for i, err := range db.PutItems(ctx, ins) {
		if damaged := i == 3; damaged != errors.Is(err, engine.ErrCorrupt) || !damaged && err != nil {
			t.Errorf("put %d: %v", i, err)
		}
	}
}
