package engine_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"go.uber.org/goleak"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/engine"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// clock is a clock that a test sets.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func newClock() *clock { return &clock{at: time.Date(2026, 4, 20, 14, 0, 0, 0, time.UTC)} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

func must[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func seconds(at time.Time) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(at.Unix(), 10)}
}

func enableTTL(t testing.TB, db *engine.DB, table string) {
	t.Helper()
	must[*dynamodb.UpdateTimeToLiveOutput](t)(db.UpdateTimeToLive(context.Background(), &dynamodb.UpdateTimeToLiveInput{TableName: &table,
		TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: ptr("ttl"), Enabled: ptr(true)}}))
}

func putItem(t testing.TB, db *engine.DB, table string, it item) {
	t.Helper()
	must[*dynamodb.PutItemOutput](t)(db.PutItem(context.Background(), &dynamodb.PutItemInput{TableName: &table, Item: it}))
}

func TestExpiry(t *testing.T) {
	ctx, c := context.Background(), newClock()
	db := memory(t, engine.Options{Clock: c.now})
	must[*dynamodb.CreateTableOutput](t)(db.CreateTable(ctx, tableInput("table")))
	enableTTL(t, db, "table")
	put := func(sk string, ttl types.AttributeValue) {
		putItem(t, db, "table", item{"pk": str("a"), "sk": str(sk), "ttl": ttl, "gsi1pk": str("g"), "gsi1sk": str(sk)})
	}
	put("soon", seconds(c.now().Add(time.Minute)))
	put("later", seconds(c.now().Add(time.Hour)))
	put("moved", seconds(c.now().Add(time.Minute)))
	put("moved", seconds(c.now().Add(time.Hour)))
	put("ancient", seconds(c.now().Add(-6*365*24*time.Hour)))
	put("text", str(strconv.FormatInt(c.now().Unix()-5, 10)))
	expect := func(want int) {
		t.Helper()
		if n := must[int](t)(db.ExpireNow(ctx)); n != want {
			t.Errorf("%d items expired, want %d", n, want)
		}
	}
	used := func() engine.TableUse {
		u := db.Metered().Tables["table"]
		u.Hottest = nil // they cover the last minutes
		return u
	}
	before := used()
	expect(0)
	c.add(2 * time.Minute)
	expect(1)
	expect(0)
	if after := used(); !reflect.DeepEqual(before, after) {
		t.Errorf("expiry takes capacity: %+v, then %+v", before, after)
	}
	records := streamRecords(t, db, "table")
	last := records[len(records)-1]
	if last.EventName != streamtypes.OperationTypeRemove || last.UserIdentity == nil || *last.UserIdentity.PrincipalId != "dynamodb.amazonaws.com" || *last.UserIdentity.Type != "Service" {
		t.Errorf("record of an expiry: %+v", last)
	}
	if n := len(scanAll(t, db, "table", "gsi1")); n != 4 {
		t.Errorf("%d index rows, want 4", n)
	}
	c.add(2 * time.Hour)
	expect(2)
}

// TestExpiryOfOldItems enables expiry for existing items, and disables it again.
func TestExpiryOfOldItems(t *testing.T) {
	ctx, c := context.Background(), newClock()
	db := memory(t, engine.Options{Clock: c.now})
	must[*dynamodb.CreateTableOutput](t)(db.CreateTable(ctx, tableInput("table")))
	const n = 600
	for i := range n {
		putItem(t, db, "table", item{"pk": str("a"), "sk": str(strconv.Itoa(i)), "ttl": seconds(c.now().Add(-time.Minute))})
	}
	enableTTL(t, db, "table")
	for expired := 0; expired < n; {
		expired += must[int](t)(db.ExpireNow(ctx))
	}
	if left := len(scanAll(t, db, "table", "")); left != 0 {
		t.Errorf("%d items left", left)
	}
	must[*dynamodb.UpdateTimeToLiveOutput](t)(db.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{TableName: ptr("table"),
		TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: ptr("ttl"), Enabled: ptr(false)}}))
	putItem(t, db, "table", item{"pk": str("a"), "sk": str("x"), "ttl": seconds(c.now().Add(-time.Minute))})
	if n := must[int](t)(db.ExpireNow(ctx)); n != 0 {
		t.Errorf("%d items expired although expiry is off", n)
	}
}

// TestBackfill adds an index while other goroutines write.
func TestBackfill(t *testing.T) {
	ctx := context.Background()
	db := memory(t, engine.Options{})
	must[*dynamodb.CreateTableOutput](t)(db.CreateTable(ctx, tableInput("table")))
	for i := range 2000 {
		putItem(t, db, "table", item{"pk": str(strconv.Itoa(i % 50)), "sk": str(strconv.Itoa(i)), "colour": str(fmt.Sprint("c", i%3))})
	}
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := range 500 {
				n := (i*4 + w) % 2000
				it := item{"pk": str(strconv.Itoa(n % 50)), "sk": str(strconv.Itoa(n)), "colour": str(fmt.Sprint("d", i%5))}
				if i%7 == 0 {
					delete(it, "colour")
				}
				if _, err := db.PutItem(ctx, &dynamodb.PutItemInput{TableName: ptr("table"), Item: it}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	must[*dynamodb.UpdateTableOutput](t)(db.UpdateTable(ctx, &dynamodb.UpdateTableInput{TableName: ptr("table"),
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: ptr("colour"), AttributeType: "S"}},
		GlobalSecondaryIndexUpdates: []types.GlobalSecondaryIndexUpdate{{Create: &types.CreateGlobalSecondaryIndexAction{IndexName: ptr("byColour"),
			KeySchema:  []types.KeySchemaElement{{AttributeName: ptr("colour"), KeyType: "HASH"}},
			Projection: &types.Projection{ProjectionType: types.ProjectionTypeAll}}}}}))
	wg.Wait()
	waitActive(t, db, "table")
	want, got := map[string]item{}, map[string]item{}
	for _, it := range scanAll(t, db, "table", "") {
		if it["colour"] != nil {
			want[keyOf(it)] = it
		}
	}
	for _, it := range scanAll(t, db, "table", "byColour") {
		got[keyOf(it)] = it
	}
	sameItems(t, "index", got, want)
}

// TestShardsRoll follows shards from parents to children.
func TestShardsRoll(t *testing.T) {
	ctx := context.Background()
	db := memory(t, engine.Options{RollEvery: 10, StreamShards: 2})
	must[*dynamodb.CreateTableOutput](t)(db.CreateTable(ctx, tableInput("table")))
	for i := range 100 {
		putItem(t, db, "table", item{"pk": str(strconv.Itoa(i % 7)), "sk": str(strconv.Itoa(i))})
	}
	if err := db.RollShards(ctx, "table"); err != nil {
		t.Fatal(err)
	}
	arn := must[*dynamodb.DescribeTableOutput](t)(db.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: ptr("table")})).Table.LatestStreamArn
	shards := must[*dynamodbstreams.DescribeStreamOutput](t)(db.DescribeStream(ctx, &dynamodbstreams.DescribeStreamInput{StreamArn: arn})).StreamDescription.Shards
	ends, open, total := map[string]string{}, 0, 0
	for _, sh := range shards {
		if sh.ParentShardId != nil {
			if end, known := ends[*sh.ParentShardId]; !known || end >= *sh.SequenceNumberRange.StartingSequenceNumber {
				t.Errorf("%s begins at %s, its parent %s ends at %q", *sh.ShardId, *sh.SequenceNumberRange.StartingSequenceNumber, *sh.ParentShardId, end)
			}
		}
		if end := sh.SequenceNumberRange.EndingSequenceNumber; end != nil {
			ends[*sh.ShardId] = *end
		} else {
			open++
		}
		total += len(shardRecords(t, db, arn, sh))
	}
	if open != 2 || total != 100 || len(shards) < 12 {
		t.Errorf("%d shards, %d of them open, %d records", len(shards), open, total)
	}
}

// TestStreamReadersSeeEveryRecord reads a stream while many goroutines write. Sequence numbers must only grow, and no
// record may appear behind a reader.
func TestStreamReadersSeeEveryRecord(t *testing.T) {
	ctx := context.Background()
	db := memory(t, engine.Options{})
	must[*dynamodb.CreateTableOutput](t)(db.CreateTable(ctx, tableInput("table")))
	const writers, each = 8, 300
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				if _, err := db.PutItem(ctx, &dynamodb.PutItemInput{TableName: ptr("table"), Item: item{"pk": str(strconv.Itoa(w)), "sk": str(strconv.Itoa(i))}}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	arn := must[*dynamodb.DescribeTableOutput](t)(db.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: ptr("table")})).Table.LatestStreamArn
	shards := must[*dynamodbstreams.DescribeStreamOutput](t)(db.DescribeStream(ctx, &dynamodbstreams.DescribeStreamInput{StreamArn: arn})).StreamDescription.Shards
	it := must[*dynamodbstreams.GetShardIteratorOutput](t)(db.GetShardIterator(ctx, &dynamodbstreams.GetShardIteratorInput{StreamArn: arn, ShardId: shards[0].ShardId, ShardIteratorType: streamtypes.ShardIteratorTypeTrimHorizon}))
	next, last := it.ShardIterator, ""
	for seen := 0; seen < writers*each; {
		out := must[*dynamodbstreams.GetRecordsOutput](t)(db.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: next}))
		for _, r := range out.Records {
			if *r.Dynamodb.SequenceNumber <= last {
				t.Fatalf("%s after %s", *r.Dynamodb.SequenceNumber, last)
			}
			last = *r.Dynamodb.SequenceNumber
		}
		seen, next = seen+len(out.Records), out.NextShardIterator
	}
	wg.Wait()
	if n := len(streamRecords(t, db, "table")); n != writers*each {
		t.Errorf("%d records, want %d", n, writers*each)
	}
}

func TestTrim(t *testing.T) {
	ctx, c := context.Background(), newClock()
	db := memory(t, engine.Options{Clock: c.now, RollEvery: 30})
	must[*dynamodb.CreateTableOutput](t)(db.CreateTable(ctx, tableInput("table")))
	for i := range 100 {
		putItem(t, db, "table", item{"pk": str("a"), "sk": str(strconv.Itoa(i))})
		c.add(20 * time.Minute)
	}
	arn := must[*dynamodb.DescribeTableOutput](t)(db.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: ptr("table")})).Table.LatestStreamArn
	first := must[*dynamodbstreams.DescribeStreamOutput](t)(db.DescribeStream(ctx, &dynamodbstreams.DescribeStreamInput{StreamArn: arn})).StreamDescription.Shards[0]
	begin := must[*dynamodbstreams.GetShardIteratorOutput](t)(db.GetShardIterator(ctx, &dynamodbstreams.GetShardIteratorInput{StreamArn: arn, ShardId: first.ShardId, ShardIteratorType: streamtypes.ShardIteratorTypeTrimHorizon}))
	if err := db.TrimStreams(ctx); err != nil {
		t.Fatal(err)
	}
	// Of 100 records, one every 20 minutes, 72 are at most 24 hours old.
	if n := len(streamRecords(t, db, "table")); n != 72 {
		t.Errorf("%d records are left, want 72", n)
	}
	_, err := db.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: begin.ShardIterator})
	if code := dynamo.Code(err); code != "ExpiredIteratorException" && code != "TrimmedDataAccessException" {
		t.Errorf("an iterator before the horizon: %v", err)
	}
	c.add(16 * time.Minute)
	_, err = db.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: begin.ShardIterator})
	var expired *streamtypes.ExpiredIteratorException
	if !errors.As(err, &expired) {
		t.Errorf("an iterator of 16 minutes ago: %v", err)
	}
	c.add(48 * time.Hour)
	must[*dynamodb.DeleteTableOutput](t)(db.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: ptr("table")}))
	c.add(25 * time.Hour)
	if err := db.TrimStreams(ctx); err != nil {
		t.Fatal(err)
	}
	if n := len(must[*dynamodbstreams.ListStreamsOutput](t)(db.ListStreams(ctx, &dynamodbstreams.ListStreamsInput{})).Streams); n != 0 {
		t.Errorf("%d streams are left of a deleted table", n)
	}
}

// TestTokensExpire checks that a token is valid for ten minutes.
func TestTokensExpire(t *testing.T) {
	ctx, c := context.Background(), newClock()
	db := memory(t, engine.Options{Clock: c.now})
	must[*dynamodb.CreateTableOutput](t)(db.CreateTable(ctx, tableInput("table")))
	add := func() {
		t.Helper()
		must[*dynamodb.TransactWriteItemsOutput](t)(db.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{ClientRequestToken: ptr("token"), TransactItems: []types.TransactWriteItem{
			{Update: &types.Update{TableName: ptr("table"), Key: item{"pk": str("a"), "sk": str("b")}, UpdateExpression: ptr("ADD n :one"),
				ExpressionAttributeValues: item{":one": &types.AttributeValueMemberN{Value: "1"}}}}}}))
	}
	add()
	c.add(9 * time.Minute)
	add()
	c.add(2 * time.Minute)
	add()
	out := must[*dynamodb.GetItemOutput](t)(db.GetItem(ctx, &dynamodb.GetItemInput{TableName: ptr("table"), Key: item{"pk": str("a"), "sk": str("b")}}))
	if n := out.Item["n"].(*types.AttributeValueMemberN).Value; n != "2" {
		t.Errorf("the transaction was applied %s times, want 2", n)
	}
}

func TestMetered(t *testing.T) {
	ctx := context.Background()
	db := memory(t, engine.Options{Clock: newClock().now})
	must[*dynamodb.CreateTableOutput](t)(db.CreateTable(ctx, tableInput("table")))
	for i := range 3 {
		putItem(t, db, "table", item{"pk": str("a"), "sk": str(fmt.Sprint("EVENT#", i)), "gsi1pk": str("g"), "gsi1sk": str("h")})
	}
	putItem(t, db, "table", item{"pk": str("a"), "sk": str("METADATA")})
	must[*dynamodb.GetItemOutput](t)(db.GetItem(ctx, &dynamodb.GetItemInput{TableName: ptr("table"), Key: item{"pk": str("a"), "sk": str("b")}}))
	want := engine.TableUse{Use: engine.Use{ReadUnits: 0.5, WriteUnits: 4, Reads: 1, Writes: 4}, Indexes: map[string]engine.Use{"gsi1": {WriteUnits: 3, Writes: 3}},
		Entities: map[string]engine.EntityUse{"EVENT": {Writes: 3, WriteUnits: 6}, "METADATA": {Writes: 1, WriteUnits: 1}},
		Prefixes: map[string]engine.Use{engine.NoPrefix: {ReadUnits: 0.5, WriteUnits: 7, Reads: 1, Writes: 4}},
		Hottest:  []engine.KeyUse{{Key: "a", ReadUnits: 0.5, WriteUnits: 4, PeakReads: 0.5, PeakWrites: 4}, {Key: "g", Index: "gsi1", WriteUnits: 3, PeakWrites: 3}}}
	if got := db.Metered().Tables["table"]; !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestClosed(t *testing.T) {
	db := must[*engine.DB](t)(engine.OpenMemory(engine.Options{}))
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); !errors.Is(err, engine.ErrClosed) {
		t.Errorf("closed twice: %v", err)
	}
	if _, err := db.ListTables(context.Background(), &dynamodb.ListTablesInput{}); !errors.Is(err, engine.ErrClosed) {
		t.Errorf("a request after Close: %v", err)
	}
	if _, err := engine.Open(t.TempDir(), engine.Options{StreamShards: -1}); !errors.Is(err, engine.ErrOptions) {
		t.Errorf("a negative number of shards: %v", err)
	}
}
