package engine_test

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/onefold/onefold/engine"
)

// processTime returns the CPU time of the process, including flushes and compactions.
func processTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// pageView returns an item like those of an import: 15 attributes, about 300 bytes.
func pageView(n int64) map[string]types.AttributeValue {
	id := fmt.Sprintf("01J%023d", n)
	return map[string]types.AttributeValue{
		"pk":  str("SITE#example#SHARD#" + strconv.FormatInt(n%8, 10)),
		"sk":  str("EVENT#" + id),
		"et":  str("analytics.event"),
		"at":  str("2026-04-20T14:00:00.000Z"),
		"k":   str("pageview"),
		"p":   str("/articles/" + strconv.FormatInt(n%1000, 10)),
		"h":   str("www.example.com"),
		"r":   str("https://search.example.org/"),
		"v":   str("b1946ac92492d2347c6235b4d2611184"),
		"b":   str("Firefox"),
		"o":   str("Linux"),
		"d":   str("desktop"),
		"c":   str("DE"),
		"l":   str("de-DE"),
		"ttl": &types.AttributeValueMemberN{Value: "1900000000"},
	}
}

func benchPut(b *testing.B, db *engine.DB) {
	ctx := context.Background()
	if _, err := db.CreateTable(ctx, tableInput("bench")); err != nil {
		b.Fatal(err)
	}
	if _, err := db.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{TableName: ptr("bench"),
		TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: ptr("ttl"), Enabled: ptr(true)}}); err != nil {
		b.Fatal(err)
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	b.ResetTimer()
	began := processTime()
	for range 64 {
		wg.Go(func() {
			for {
				n := next.Add(1)
				if n > int64(b.N) {
					return
				}
				if _, err := db.PutItem(ctx, &dynamodb.PutItemInput{TableName: ptr("bench"), Item: pageView(n), ConditionExpression: ptr("attribute_not_exists(pk)")}); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64((processTime()-began).Nanoseconds())/float64(b.N), "cpu-ns/op")
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "puts/s")
	b.ReportAllocs()
}

func BenchmarkPutDurable(b *testing.B) {
	db, err := engine.Open(b.TempDir(), engine.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	benchPut(b, db)
}

// BenchmarkPutItemsDurable puts 500 items per call, from two goroutines, as an import does.
func BenchmarkPutItemsDurable(b *testing.B) {
	ctx := context.Background()
	db, err := engine.Open(b.TempDir(), engine.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	if _, err := db.CreateTable(ctx, tableInput("bench")); err != nil {
		b.Fatal(err)
	}
	enableTTL(b, db, "bench")
	const atOnce = 500
	var next atomic.Int64
	var wg sync.WaitGroup
	b.ResetTimer()
	began := processTime()
	for range 2 {
		wg.Go(func() {
			for {
				n := next.Add(atOnce)
				if n > int64(b.N) {
					return
				}
				ins := make([]*dynamodb.PutItemInput, atOnce)
				for i := range ins {
					ins[i] = &dynamodb.PutItemInput{TableName: ptr("bench"), Item: pageView(n + int64(i)), ConditionExpression: ptr("attribute_not_exists(pk)")}
				}
				for _, err := range db.PutItems(ctx, ins) {
					if err != nil {
						b.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64((processTime()-began).Nanoseconds())/float64(b.N), "cpu-ns/op")
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "puts/s")
}

func BenchmarkPutMemory(b *testing.B) {
	db, err := engine.OpenMemory(engine.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	benchPut(b, db)
}

func BenchmarkMakeItem(b *testing.B) {
	for i := range b.N {
		pageView(int64(i))
	}
}

func BenchmarkGetRecords(b *testing.B) {
	ctx := context.Background()
	db, err := engine.OpenMemory(engine.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	if _, err := db.CreateTable(ctx, tableInput("bench")); err != nil {
		b.Fatal(err)
	}
	for i := range 1000 {
		if _, err := db.PutItem(ctx, &dynamodb.PutItemInput{TableName: ptr("bench"), Item: pageView(int64(i))}); err != nil {
			b.Fatal(err)
		}
	}
	ls, err := db.ListStreams(ctx, &dynamodbstreams.ListStreamsInput{})
	if err != nil {
		b.Fatal(err)
	}
	ds, err := db.DescribeStream(ctx, &dynamodbstreams.DescribeStreamInput{StreamArn: ls.Streams[0].StreamArn})
	if err != nil {
		b.Fatal(err)
	}
	it, err := db.GetShardIterator(ctx, &dynamodbstreams.GetShardIteratorInput{StreamArn: ls.Streams[0].StreamArn,
		ShardId: ds.StreamDescription.Shards[0].ShardId, ShardIteratorType: streamtypes.ShardIteratorTypeTrimHorizon})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.ResetTimer()
	records := 0
	for range b.N {
		r, err := db.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: it.ShardIterator})
		if err != nil {
			b.Fatal(err)
		}
		records += len(r.Records)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(records), "ns/record")
}

// BenchmarkGetItem reads items of a table in memory, from as many goroutines as there are
// processors.
func BenchmarkGetItem(b *testing.B) {
	ctx, db := context.Background(), memory(b, engine.Options{TTLInterval: -1})
	must[*dynamodb.CreateTableOutput](b)(db.CreateTable(ctx, tableInput("bench")))
	const items = 1000
	keys := make([]item, items)
	for i := range keys {
		it := pageView(int64(i))
		putItem(b, db, "bench", it)
		keys[i] = item{"pk": it["pk"], "sk": it["sk"]}
	}
	b.RunParallel(func(p *testing.PB) {
		for n := 0; p.Next(); n++ {
			if _, err := db.GetItem(ctx, &dynamodb.GetItemInput{TableName: ptr("bench"), Key: keys[n%items]}); err != nil {
				b.Error(err)
				return
			}
		}
	})
}
