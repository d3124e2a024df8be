package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/dynamo/dynamohttp"
	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/engine/enginetest"
)

const mb = 1 << 20

// onDisk opens a database on a disk of 1,000 MB. The function leave sets how many MB are free.
func onDisk(t *testing.T, o engine.Options) (db *engine.DB, leave func(free uint64)) {
	t.Helper()
	fs := vfs.NewMem()
	leave = func(free uint64) {
		fs.TestingSetDiskUsage(vfs.DiskUsage{AvailBytes: free * mb, TotalBytes: 1000 * mb, UsedBytes: (1000 - free) * mb})
	}
	leave(900)
	o.FS, o.TTLInterval = fs, -1
	db = must[*engine.DB](t)(engine.Open("data", o))
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db, leave
}

// awaitFull tries a write until it is refused because the disk is full. With full false, it tries
// until the write is accepted.
func awaitFull(t *testing.T, full bool, write func() error) {
	t.Helper()
	for end := time.Now().Add(hangs); ; {
		err := write()
		if dynamo.IsFull(err) == full && (full || err == nil) {
			return
		}
		if err != nil && !dynamo.IsFull(err) || time.Now().After(end) {
			t.Fatalf("wanted full %v: %v", full, err)
		}
	}
}

// growths returns one write of each kind that adds data. n makes the writes different.
func growths(db *engine.DB) map[string]func(n int) error {
	ctx, table := context.Background(), ptr("table")
	it := func(n int) item {
		return item{"pk": str("p"), "sk": str(fmt.Sprint("new", n)), "gsi1pk": str("g"), "gsi1sk": str("s")}
	}
	return map[string]func(n int) error{
		"put": func(n int) error {
			_, err := db.PutItem(ctx, &dynamodb.PutItemInput{TableName: table, Item: it(n)})
			return err
		},
		"puts": func(n int) error {
			return errors.Join(db.PutItems(ctx, []*dynamodb.PutItemInput{{TableName: table, Item: it(n)}})...)
		},
		"update": func(n int) error {
			_, err := db.UpdateItem(ctx, &dynamodb.UpdateItemInput{TableName: table, Key: item{"pk": str("p"), "sk": str("0")}, UpdateExpression: ptr("SET n = :n"), ExpressionAttributeValues: item{":n": num(fmt.Sprint(n))}})
			return err
		},
		"batch": func(n int) error {
			_, err := db.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{"table": {{PutRequest: &types.PutRequest{Item: it(n)}}}}})
			return err
		},
		"transaction": func(n int) error {
			_, err := db.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{ClientRequestToken: ptr(fmt.Sprint(n)), TransactItems: []types.TransactWriteItem{
				{Put: &types.Put{TableName: table, Item: it(n)}}, {Delete: &types.Delete{TableName: table, Key: item{"pk": str("p"), "sk": str("1")}}}}})
			return err
		},
		"statement": func(n int) error {
			_, err := db.ExecuteStatement(ctx, &dynamodb.ExecuteStatementInput{Statement: ptr(`UPDATE "table" SET n = ? WHERE pk = 'p' AND sk = '0'`), Parameters: []types.AttributeValue{num(fmt.Sprint(n))}})
			return err
		},
		"table": func(n int) error {
			_, err := db.CreateTable(ctx, tableInput(fmt.Sprint("table-", n)))
			return err
		},
		"setting": func(n int) error {
			_, err := db.UpdateTable(ctx, &dynamodb.UpdateTableInput{TableName: table, DeletionProtectionEnabled: ptr(n%2 == 0)})
			return err
		},
		"probe": func(int) error { return db.Probe(ctx) },
	}
}

// TestReserve fills a disk up to the reserve. Writes that add data must be refused and change
// nothing, while reads and deletes continue. At a quarter of the reserve, deletes must be refused
// too. When there is space again, everything must work.
func TestReserve(t *testing.T) {
	ctx := context.Background()
	c := newClock()
	db, leave := onDisk(t, engine.Options{Clock: c.now}) // 256 MB are reserved
	must[*dynamodb.CreateTableOutput](t)(db.CreateTable(ctx, tableInput("table")))
	enableTTL(t, db, "table")
	for i := range 20 {
		putItem(t, db, "table", item{"pk": str("p"), "sk": str(fmt.Sprint(i)), "n": num("0"), "ttl": seconds(c.now().Add(time.Duration(1+(i+1)%2) * time.Hour))})
	}
	remove := func(n int) error {
		_, err := db.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: ptr("table"), Key: item{"pk": str("p"), "sk": str(fmt.Sprint(n))}})
		return err
	}
	n := 0
	for name, write := range growths(db) {
		leave(300)
		awaitFull(t, false, func() error { n++; return write(n) })
		before, records := scanAll(t, db, "table", ""), replay(t, db, "table")
		leave(200)
		awaitFull(t, true, func() error { return db.Probe(ctx) })
		n++
		err := write(n)
		if !dynamo.IsFull(err) || dynamo.Code(err) != "ServiceUnavailable" {
			t.Errorf("%s on a full disk: %v", name, err)
		}
		if !db.DiskSpace().Full {
			t.Errorf("%s: %+v", name, db.DiskSpace())
		}
		if after := scanAll(t, db, "table", ""); len(after) != len(before) {
			t.Errorf("%s was refused, and there are %d items, not %d", name, len(after), len(before))
		}
		sameItems(t, "stream after "+name, replay(t, db, "table"), records)
	}
	if err := remove(3); err != nil {
		t.Errorf("delete on a full disk: %v", err)
	}
	c.add(90 * time.Minute)
	if expired, err := db.ExpireNow(ctx); err != nil || expired == 0 {
		t.Errorf("%d items expired on a full disk, %v", expired, err)
	}
	if err := errors.Join(db.TrimStreams(ctx), db.Compact(ctx)); err != nil {
		t.Errorf("maintenance on a full disk: %v", err)
	}
	leave(63)
	awaitFull(t, true, func() error { return db.Probe(ctx) })
	if err := remove(6); !dynamo.IsFull(err) {
		t.Errorf("delete on a disk with a quarter of the reserve: %v", err)
	}
	if _, err := db.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: ptr("table")}); !dynamo.IsFull(err) {
		t.Errorf("delete of a table: %v", err)
	}
	leave(300)
	awaitFull(t, false, func() error { return remove(6) })
	for name, write := range growths(db) {
		n++
		if err := write(n); err != nil {
			t.Errorf("%s with room again: %v", name, err)
		}
	}
	checkClean(t, db)
}

// TestFullDiskOverHTTP uses an SDK with a database on a full disk. The error must tell the
// client to retry later, and why.
func TestFullDiskOverHTTP(t *testing.T) {
	ctx := context.Background()
	db, leave := onDisk(t, engine.Options{})
	must[*dynamodb.CreateTableOutput](t)(db.CreateTable(ctx, tableInput("table")))
	leave(1)
	awaitFull(t, true, func() error { return db.Probe(ctx) })
	client := dynamodb.New(dynamodb.Options{
		HTTPClient: dynamohttp.NewDoer(db), Region: "us-east-1", BaseEndpoint: ptr("http://in.process"), Retryer: aws.NopRetryer{},
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "any", SecretAccessKey: "any"}, nil
		}),
	})
	_, err := client.PutItem(ctx, &dynamodb.PutItemInput{TableName: ptr("table"), Item: item{"pk": str("p"), "sk": str("s")}})
	if dynamo.Code(err) != "ServiceUnavailable" || !strings.Contains(fmt.Sprint(err), "disk_full") || !retry.NewStandard().IsErrorRetryable(err) {
		t.Errorf("a put over the protocol: %v", err)
	}
	if _, err := client.Scan(ctx, &dynamodb.ScanInput{TableName: ptr("table")}); err != nil {
		t.Errorf("a read over the protocol: %v", err)
	}
}

// TestDefaultReserve sets the reserve, and leaves it at its default.
func TestDefaultReserve(t *testing.T) {
	for _, c := range []struct {
		reserve int64
		free    uint64
		full    bool
	}{{0, 255, true}, {0, 257, false}, {10 * mb, 9, true}, {10 * mb, 11, false}, {-1, 0, false}} {
		db, leave := onDisk(t, engine.Options{DiskReserve: c.reserve})
		leave(c.free)
		if s := db.DiskSpace(); s.Full != c.full || s.Free != int64(c.free)*mb || s.Total != 1000*mb {
			t.Errorf("reserve %d: %+v", c.reserve, s)
		}
		if err := db.Probe(context.Background()); dynamo.IsFull(err) != c.full {
			t.Errorf("reserve %d, %d MB free: %v", c.reserve, c.free, err)
		}
	}
}

// TestReserveOfADirectory checks the disk of a directory without a database against a reserve.
func TestReserveOfADirectory(t *testing.T) {
	dir := t.TempDir()
	all := engine.DiskSpaceAt(dir, -1)
	if !all.Known || all.Total < all.Free || all.Full {
		t.Fatalf("%+v", all)
	}
	if s := engine.DiskSpaceAt(dir, 2*all.Total); !s.Full || s.Reserve != 2*all.Total {
		t.Errorf("a reserve larger than the disk: %+v", s)
	}
	if s := engine.DiskSpaceAt(dir+"/nowhere", 0); s.Known || s.Full {
		t.Errorf("nowhere: %+v", s)
	}
}

// TestOpenOnFullDisk opens a database on a disk without space for what opening writes. Open must
// fail and give the reason, and nothing may be lost.
func TestOpenOnFullDisk(t *testing.T) {
	ctx, fs := context.Background(), enginetest.NewDisk(vfs.NewMem())
	db := must[*engine.DB](t)(engine.Open("data", engine.Options{FS: fs, TTLInterval: -1}))
	must[*dynamodb.CreateTableOutput](t)(db.CreateTable(ctx, tableInput("table")))
	putItem(t, db, "table", item{"pk": str("p"), "sk": str("s")})
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	fs.Break(enginetest.Full, 1)
	if _, err := engine.Open("data", engine.Options{FS: fs, TTLInterval: -1}); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("opened on a full disk: %v", err)
	}
	fs.Heal()
	db = must[*engine.DB](t)(engine.Open("data", engine.Options{FS: fs, TTLInterval: -1}))
	if got := scanAll(t, db, "table", ""); len(got) != 1 {
		t.Errorf("%d items", len(got))
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// A database on a disk without a free byte can be closed: the end of the log does not fit, which is not
// a failure, because all that was acknowledged is in the log.
func TestCloseOnFullDisk(t *testing.T) {
	mem := vfs.NewMem()
	fs := enginetest.NewDisk(mem)
	mem.TestingSetDiskUsage(vfs.DiskUsage{AvailBytes: 900 * mb, TotalBytes: 1000 * mb})
	open := func() *engine.DB {
		return must[*engine.DB](t)(engine.Open("data", engine.Options{FS: fs, TTLInterval: -1, OnFatal: func(err error) { t.Error(err) }}))
	}
	db := open()
	must[*dynamodb.CreateTableOutput](t)(db.CreateTable(context.Background(), tableInput("table")))
	for n := range 3 {
		putItem(t, db, "table", item{"pk": str("p"), "sk": str(fmt.Sprint(n))})
		mem.TestingSetDiskUsage(vfs.DiskUsage{TotalBytes: 1000 * mb})
		fs.Break(enginetest.Full, 1)
		if err := db.Close(); err != nil {
			t.Errorf("closed on a full disk: %v", err)
		}
		fs.Heal()
		mem.TestingSetDiskUsage(vfs.DiskUsage{AvailBytes: 900 * mb, TotalBytes: 1000 * mb})
		db = open()
		if got := scanAll(t, db, "table", ""); len(got) != n+1 {
			t.Errorf("%d items, want %d", len(got), n+1)
		}
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}
