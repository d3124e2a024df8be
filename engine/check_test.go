package engine_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/cockroachdb/pebble/v2"

	"github.com/onefold/onefold/engine"
)

// checkClean fails the test for every finding of Check.
func checkClean(t *testing.T, db *engine.DB) engine.CheckSummary {
	t.Helper()
	return must[engine.CheckSummary](t)(db.Check(context.Background(), func(f engine.Finding) {
		if !f.Harmless() {
			t.Errorf("check: %s", &f)
		}
	}))
}

// variety opens a database that has rows of every kind: two tables, indexes of all projections,
// expiry, streams whose shards roll over, a disabled stream, and tokens.
func variety(t *testing.T) *engine.DB {
	t.Helper()
	ctx, c := context.Background(), newClock()
	db := memory(t, engine.Options{Clock: c.now, StreamShards: 3, RollEvery: 7})
	in := tableInput("table")
	global, attributes := in.GlobalSecondaryIndexes[0], append(in.AttributeDefinitions, types.AttributeDefinition{AttributeName: ptr("n"), AttributeType: "N"})
	in.AttributeDefinitions = attributes
	for name, p := range map[string]types.Projection{"keys": {ProjectionType: types.ProjectionTypeKeysOnly}, "some": {ProjectionType: types.ProjectionTypeInclude, NonKeyAttributes: []string{"v"}}} {
		x := global
		x.IndexName, x.Projection = &name, &p
		in.GlobalSecondaryIndexes = append(in.GlobalSecondaryIndexes, x)
	}
	in.LocalSecondaryIndexes = []types.LocalSecondaryIndex{{IndexName: ptr("local"), Projection: global.Projection,
		KeySchema: []types.KeySchemaElement{{AttributeName: ptr("pk"), KeyType: types.KeyTypeHash}, {AttributeName: ptr("n"), KeyType: types.KeyTypeRange}}}}
	must[*dynamodb.CreateTableOutput](t)(db.CreateTable(ctx, in))
	enableTTL(t, db, "table")
	must[*dynamodb.CreateTableOutput](t)(db.CreateTable(ctx, tableInput("other")))
	for i := range 60 {
		it := item{"pk": str(fmt.Sprint("p", i%7)), "sk": str(fmt.Sprint(i)), "v": str("x")}
		if i%2 == 0 {
			it["gsi1pk"], it["gsi1sk"] = str(fmt.Sprint("g", i%3)), str("s")
		}
		if i%3 == 0 {
			it["n"] = &types.AttributeValueMemberN{Value: fmt.Sprint(i, ".5")}
		}
		if i%4 == 0 {
			it["ttl"] = &types.AttributeValueMemberN{Value: fmt.Sprint(c.now().Unix() + int64(i))}
		}
		putItem(t, db, "table", it)
		putItem(t, db, "other", it)
		it["v"] = str("y")
		must[*dynamodb.TransactWriteItemsOutput](t)(db.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{ClientRequestToken: ptr(fmt.Sprint("token", i)),
			TransactItems: []types.TransactWriteItem{{Put: &types.Put{TableName: ptr("table"), Item: it}}}}))
		if i%5 == 0 {
			must[*dynamodb.DeleteItemOutput](t)(db.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: ptr("table"), Key: item{"pk": it["pk"], "sk": it["sk"]}}))
		}
	}
	c.add(30 * time.Second)
	must[int](t)(db.ExpireNow(ctx))
	must[*dynamodb.UpdateTableOutput](t)(db.UpdateTable(ctx, &dynamodb.UpdateTableInput{TableName: ptr("other"), StreamSpecification: &types.StreamSpecification{StreamEnabled: ptr(false)}}))
	putItem(t, db, "other", item{"pk": str("p"), "sk": str("after")})
	awaitFilled(t, db, "table") // before that, Check does not miss an expiry row
	return db
}

// awaitFilled returns when the expiry rows of the existing items have been written.
func awaitFilled(t *testing.T, db *engine.DB, table string) {
	t.Helper()
	for filling := true; filling; {
		_, v := firstRow(t, engine.StoreOf(db), []byte{0x02}, `"name":"`+table+`"`)
		filling = bytes.Contains(v, []byte(`"filling":true`))
	}
}

func TestCheckFindsNothing(t *testing.T) {
	db := variety(t)
	sum := checkClean(t, db)
	if sum.Tables != 2 || sum.Items == 0 || sum.IndexRows == 0 || sum.ExpiryRows == 0 || sum.Records == 0 || sum.Tokens != 60 || sum.Findings != 0 || sum.Newest.IsZero() {
		t.Errorf("%+v", sum)
	}
	ctx := context.Background()
	must[*dynamodb.DeleteTableOutput](t)(db.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: ptr("other")}))
	must[*dynamodb.UpdateTableOutput](t)(db.UpdateTable(ctx, &dynamodb.UpdateTableInput{TableName: ptr("table"),
		GlobalSecondaryIndexUpdates: []types.GlobalSecondaryIndexUpdate{{Delete: &types.DeleteGlobalSecondaryIndexAction{IndexName: ptr("keys")}}}}))
	must[*dynamodb.UpdateTimeToLiveOutput](t)(db.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{TableName: ptr("table"),
		TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: ptr("ttl"), Enabled: ptr(false)}}))
	checkClean(t, db)
}

func TestCheckWhileWriting(t *testing.T) {
	db, r := busy(t, t.TempDir())
	for i := range 5 {
		checkClean(t, db)
		r.await(int64(100 + 40*i))
	}
	r.end(t)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestCheckWithPostponedEntries checks a store whose index entries do not match its items yet,
// because index updates are delayed.
func TestCheckWithPostponedEntries(t *testing.T) {
	db := memory(t, engine.Options{IndexDelay: time.Hour})
	must[*dynamodb.CreateTableOutput](t)(db.CreateTable(context.Background(), tableInput("table")))
	for _, g := range []string{"a", "b", "c"} {
		for _, sk := range []string{"1", "2"} {
			putItem(t, db, "table", item{"pk": str("p"), "sk": str(sk), "gsi1pk": str(g), "gsi1sk": str(sk)})
		}
	}
	checkClean(t, db)
	k, v := firstRow(t, engine.StoreOf(db), []byte{0x60})
	if err := engine.StoreOf(db).Set(k, v[:len(v)-1], pebble.NoSync); err != nil {
		t.Fatal(err)
	}
	if sum := must[engine.CheckSummary](t)(db.Check(context.Background(), func(engine.Finding) {})); sum.Findings == 0 {
		t.Error("a change that cannot be read is not found")
	}
}

func TestCheckIsCancelled(t *testing.T) {
	db := memory(t, engine.Options{})
	must[*dynamodb.CreateTableOutput](t)(db.CreateTable(context.Background(), tableInput("table")))
	for i := range 2000 {
		putItem(t, db, "table", item{"pk": str("a"), "sk": str(fmt.Sprint(i))})
	}
	ctx, cancel := context.WithCancel(context.Background())
	k, v := firstRow(t, engine.StoreOf(db), []byte{0x10})
	if err := engine.StoreOf(db).Set(k, v[:len(v)-1], pebble.NoSync); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Check(ctx, func(engine.Finding) { cancel() }); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled in the middle: %v", err)
	}
}

// firstRow returns the first row whose key begins with prefix and whose value contains all of the
// texts.
func firstRow(t *testing.T, store *pebble.DB, prefix []byte, texts ...string) (key, value []byte) {
	t.Helper()
	it := must[*pebble.Iterator](t)(store.NewIter(&pebble.IterOptions{LowerBound: prefix}))
	defer it.Close()
search:
	for ok := it.First(); ok && bytes.HasPrefix(it.Key(), prefix); ok = it.Next() {
		for _, text := range texts {
			if !bytes.Contains(it.Value(), []byte(text)) {
				continue search
			}
		}
		return bytes.Clone(it.Key()), bytes.Clone(it.Value())
	}
	t.Fatalf("no row begins with %x and holds %q", prefix, texts)
	return nil, nil
}

// damages lists the ways in which a store can be damaged, and what Check must report for each.
var damages = []struct {
	name   string
	damage func(t *testing.T, s *pebble.DB) error
	finds  []string // a part of each finding that must be reported
}{
	{"an item is cut off", func(t *testing.T, s *pebble.DB) error {
		k, v := firstRow(t, s, []byte{0x10})
		return s.Set(k, v[:len(v)-3], pebble.NoSync)
	}, []string{`unreadable table=`}},
	{"an item is gone", func(t *testing.T, s *pebble.DB) error {
		k, _ := firstRow(t, s, []byte{0x10, 0, 0, 0, 1}, "gsi1pk", "ttl")
		return s.Delete(k, pebble.NoSync)
	}, []string{"index-orphan table=table index=gsi1", "index-orphan table=table index=keys", "index-orphan table=table index=some", "ttl-orphan", "stream-stale", "count"}},
	{"an item is under another key", func(t *testing.T, s *pebble.DB) error {
		k, v := firstRow(t, s, []byte{0x10})
		return s.Set(append(k[:len(k)-3:len(k)-3], '!', 0, 1), v, pebble.NoSync)
	}, []string{"misplaced"}},
	{"an item has no key", func(t *testing.T, s *pebble.DB) error {
		k, v := firstRow(t, s, []byte{0x10})
		return s.Set(k, []byte{0, v[1], 0}, pebble.NoSync)
	}, []string{"keyless table="}},
	{"an item's size is wrong", func(t *testing.T, s *pebble.DB) error {
		k, v := firstRow(t, s, []byte{0x10})
		v[0]++
		return s.Set(k, v, pebble.NoSync)
	}, []string{"wrong-size"}},
	{"an item has another value", func(t *testing.T, s *pebble.DB) error {
		k, v := firstRow(t, s, []byte{0x10, 0, 0, 0, 1}, "gsi1pk", "\x01v\x01\x01y")
		return s.Set(k, bytes.Replace(v, []byte("\x01v\x01\x01y"), []byte("\x01v\x01\x01z"), 1), pebble.NoSync)
	}, []string{"index-stale table=table index=gsi1", "index-stale table=table index=some", "stream-stale"}},
	{"an index entry is gone", func(t *testing.T, s *pebble.DB) error {
		k, _ := firstRow(t, s, []byte{0x20})
		return s.Delete(k, pebble.NoSync)
	}, []string{"index-missing"}},
	{"an index entry is of nothing", func(t *testing.T, s *pebble.DB) error {
		k, v := firstRow(t, s, []byte{0x20})
		return s.Set(append(k[:len(k)-3:len(k)-3], '!', 0, 1), v, pebble.NoSync)
	}, []string{"index-orphan"}},
	{"an index entry's key is cut off", func(t *testing.T, s *pebble.DB) error {
		k, v := firstRow(t, s, []byte{0x20})
		return s.Set(k[:14], v, pebble.NoSync)
	}, []string{"unreadable"}},
	{"an expiry row is gone", func(t *testing.T, s *pebble.DB) error {
		k, _ := firstRow(t, s, []byte{0x40})
		return s.Delete(k, pebble.NoSync)
	}, []string{"ttl-missing table=table"}},
	{"an expiry row is of another time", func(t *testing.T, s *pebble.DB) error {
		k, _ := firstRow(t, s, []byte{0x40})
		k[12]++
		return s.Set(k, nil, pebble.NoSync)
	}, []string{"ttl-orphan table=table"}},
	{"a record is cut off", func(t *testing.T, s *pebble.DB) error {
		k, v := firstRow(t, s, []byte{0x30})
		return s.Set(k, v[:len(v)-2], pebble.NoSync)
	}, []string{"unreadable"}},
	{"a record has two names", func(t *testing.T, s *pebble.DB) error {
		k, v := firstRow(t, s, []byte{0x30})
		v[1] |= 7
		return s.Set(k, v, pebble.NoSync)
	}, []string{"unreadable"}},
	{"a record has a number not given out", func(t *testing.T, s *pebble.DB) error {
		k, v := firstRow(t, s, []byte{0x30})
		binary.BigEndian.PutUint64(k[9:], 1<<40)
		return s.Set(k, v, pebble.NoSync)
	}, []string{"stream-range"}},
	{"a record is in a shard of other keys", func(t *testing.T, s *pebble.DB) error {
		k, v := firstRow(t, s, []byte{0x30})
		k2, _ := firstRow(t, s, []byte{0x30, 0, 0, 0, k[4], 0, 0, 0, k[8] + 1})
		return s.Set(k2, v, pebble.NoSync)
	}, []string{"stream-range"}},
	{"records of no stream", func(t *testing.T, s *pebble.DB) error {
		_, v := firstRow(t, s, []byte{0x30})
		return s.Set([]byte{0x30, 0, 0, 9, 9, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1}, v, pebble.NoSync)
	}, []string{"unknown key=0x300000090900000001: 1 rows"}},
	{"items of no table", func(t *testing.T, s *pebble.DB) error {
		_, v := firstRow(t, s, []byte{0x10})
		return errors.Join(s.Set([]byte{0x10, 0, 0, 9, 9, 1}, v, pebble.NoSync), s.Set([]byte{0x10, 0, 0, 9, 9, 2}, v, pebble.NoSync))
	}, []string{"unknown key=0x1000000909: 2 rows"}},
	{"entries of no index", func(t *testing.T, s *pebble.DB) error {
		return s.Set([]byte{0x20, 0, 0, 0, 1, 0, 0, 9, 9, 1}, nil, pebble.NoSync)
	}, []string{"unknown key=0x200000000100000909"}},
	{"rows of no kind", func(t *testing.T, s *pebble.DB) error {
		return s.Set([]byte{0xff, 1}, nil, pebble.NoSync)
	}, []string{"unknown key=0xff"}},
	{"a token is gone", func(t *testing.T, s *pebble.DB) error {
		k, _ := firstRow(t, s, []byte{0x50})
		return s.Delete(k, pebble.NoSync)
	}, []string{"token-orphan"}},
	{"a token's time is gone", func(t *testing.T, s *pebble.DB) error {
		k, _ := firstRow(t, s, []byte{0x51})
		return s.Delete(k, pebble.NoSync)
	}, []string{"token-orphan"}},
	{"a token is cut off", func(t *testing.T, s *pebble.DB) error {
		k, v := firstRow(t, s, []byte{0x50})
		return s.Set(k, v[:9], pebble.NoSync)
	}, []string{"unreadable"}},
	{"a descriptor is cut off", func(t *testing.T, s *pebble.DB) error {
		k, v := firstRow(t, s, []byte{0x02})
		return s.Set(k, v[:9], pebble.NoSync)
	}, []string{"unreadable key=other", "unknown"}},
	{"a stream is gone", func(t *testing.T, s *pebble.DB) error {
		k, _ := firstRow(t, s, []byte{0x03}, `"table":"table"`)
		return s.Delete(k, pebble.NoSync)
	}, []string{"catalog table=table", "unknown key=0x30"}},
	{"ids are given out again", func(t *testing.T, s *pebble.DB) error {
		return s.Set([]byte("\x01t"), []byte{0, 0, 0, 0, 0, 0, 0, 1}, pebble.NoSync)
	}, []string{"catalog key=table table:", "catalog key=index table/gsi1:"}},
	{"two tables have one id", func(t *testing.T, s *pebble.DB) error {
		k, v := firstRow(t, s, []byte{0x02}, `"name":"table"`)
		return s.Set(append(k, '2'), bytes.Replace(v, []byte(`"name":"table"`), []byte(`"name":"table2"`), 1), pebble.NoSync)
	}, []string{"catalog"}},
	{"no format version", func(t *testing.T, s *pebble.DB) error { return s.Delete([]byte("\x01f"), pebble.NoSync) }, []string{"catalog"}},
	{"a counter of no name", func(t *testing.T, s *pebble.DB) error { return s.Set([]byte("\x01x"), nil, pebble.NoSync) }, []string{"catalog"}},
}

// TestCheckFindsDamage damages a store in each way and expects Check to report it.
func TestCheckFindsDamage(t *testing.T) {
	for _, d := range damages {
		t.Run(d.name, func(t *testing.T) {
			db := variety(t)
			if err := d.damage(t, engine.StoreOf(db)); err != nil {
				t.Fatal(err)
			}
			var found []string
			sum := must[engine.CheckSummary](t)(db.Check(context.Background(), func(f engine.Finding) { found = append(found, f.String()) }))
			if sum.Findings == 0 {
				t.Error("nothing was found")
			}
			for _, want := range d.finds {
				if !strings.Contains(strings.Join(found, "\n"), want) {
					t.Errorf("%s is missing in\n%s", want, strings.Join(found, "\n"))
				}
			}
		})
	}
}

// TestCheckOfRandomDamage changes more and more random bytes of keys and values, and expects Check to
// read to the end anyway.
func TestCheckOfRandomDamage(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	db := variety(t)
	store := engine.StoreOf(db)
	var keys [][]byte
	it := must[*pebble.Iterator](t)(store.NewIter(nil))
	for ok := it.First(); ok; ok = it.Next() {
		keys = append(keys, bytes.Clone(it.Key()))
	}
	if err := it.Close(); err != nil {
		t.Fatal(err)
	}
	for range 300 {
		k, v := firstRow(t, store, keys[rng.IntN(len(keys))])
		if of := [][]byte{k, v}[rng.IntN(2)]; len(of) > 0 && rng.IntN(3) > 0 {
			of[rng.IntN(len(of))] = byte(rng.IntN(256))
		} else {
			v = v[:rng.IntN(len(v)+1)]
			k = k[:1+rng.IntN(len(k))]
		}
		if err := store.Set(k, v, pebble.NoSync); err != nil {
			t.Fatal(err)
		}
		must[engine.CheckSummary](t)(db.Check(context.Background(), func(f engine.Finding) { _ = f.String() }))
		if rng.IntN(10) == 0 {
			if _, err := db.Sizes(context.Background(), true); err != nil && !errors.Is(err, engine.ErrCorrupt) {
				t.Error(err)
			}
		}
	}
}
