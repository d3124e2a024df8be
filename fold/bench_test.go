package fold_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/fold/streamsource"
	"github.com/onefold/onefold/table"
)

type hitKey struct {
	Site  string `dynamodbav:"site"`
	Event string `dynamodbav:"event"`
}

// hit is an event with about the size and shape of a page view.
type hit struct {
	hitKey
	Visitor  string `dynamodbav:"visitor"`
	Path     string `dynamodbav:"path"`
	Referrer string `dynamodbav:"referrer,omitempty"`
	Browser  string `dynamodbav:"browser"`
	OS       string `dynamodbav:"os"`
	Country  string `dynamodbav:"country"`
	Language string `dynamodbav:"language"`
	Screen   string `dynamodbav:"screen"`
	At       int64  `dynamodbav:"at"`
	Length   int    `dynamodbav:"length"`
}

type tallyKey struct {
	Site string `dynamodbav:"site"`
	Name string `dynamodbav:"name"`
}

type tally struct {
	tallyKey
	Hits   int `dynamodbav:"hits"`
	Length int `dynamodbav:"length"`
}

var (
	hits    = table.Define[hit, hitKey]("bench.hit", table.Def[hit]{PK: "SITE#{site}", SK: "HIT#{event}"})
	tallies = table.Define[tally, tallyKey]("bench.tally", table.Def[tally]{PK: "SITE#{site}", SK: "TALLY#{name}"})
	visits  = table.Define[tally, tallyKey]("bench.visit", table.Def[tally]{PK: "SITE#{site}", SK: "VISIT#{name}"})
)

func tallyFold(into *table.Entity[tally, tallyKey], name func(*hit) string) *fold.Fold {
	return fold.New(into.Name(), into, func(s, d *tally) {
		s.Hits += d.Hits
		s.Length += d.Length
	}, fold.On(hits, func(c fold.Typed[hit], at func(tallyKey) *tally) error {
		s := at(tallyKey{c.New.Site, name(c.New)})
		s.Hits++
		s.Length += c.New.Length
		return nil
	}))
}

// absorbing is a store that accepts every write and contains nothing.
type absorbing struct{ dynamo.API }

func (absorbing) PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	return &dynamodb.PutItemOutput{}, nil
}

func (absorbing) BatchGetItem(context.Context, *dynamodb.BatchGetItemInput, ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	return &dynamodb.BatchGetItemOutput{}, nil
}

func (absorbing) Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	return &dynamodb.QueryOutput{}, nil
}

// endless is a stream with one shard. It returns the same page again and again, with new sequence
// numbers.
type endless struct {
	dynamo.Streams
	page []streamtypes.Record
	left int // records
	seq  int
}

func (e *endless) DescribeStream(context.Context, *dynamodbstreams.DescribeStreamInput, ...func(*dynamodbstreams.Options)) (*dynamodbstreams.DescribeStreamOutput, error) {
	return &dynamodbstreams.DescribeStreamOutput{StreamDescription: &streamtypes.StreamDescription{
		Shards: []streamtypes.Shard{{ShardId: ptr("shard-1")}},
	}}, nil
}

func (e *endless) GetShardIterator(context.Context, *dynamodbstreams.GetShardIteratorInput, ...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetShardIteratorOutput, error) {
	return &dynamodbstreams.GetShardIteratorOutput{ShardIterator: ptr("i")}, nil
}

func (e *endless) GetRecords(context.Context, *dynamodbstreams.GetRecordsInput, ...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetRecordsOutput, error) {
	n := min(e.left, len(e.page))
	e.left -= n
	for i := range n {
		e.seq++
		d := *e.page[i].Dynamodb
		d.SequenceNumber = ptr(fmt.Sprintf("1%020d", e.seq))
		e.page[i].Dynamodb = &d
	}
	return &dynamodbstreams.GetRecordsOutput{Records: e.page[:n], NextShardIterator: ptr("i")}, nil
}

func hitPage(b *testing.B) []streamtypes.Record {
	page := make([]streamtypes.Record, 1000)
	for i := range page {
		it, err := hits.Encode(&hit{
			hitKey: hitKey{fmt.Sprint("site", i%3), fmt.Sprintf("01J%023d", i)}, Visitor: fmt.Sprintf("visitor-%05d", i%200),
			Path: fmt.Sprintf("/articles/%d/a-title", i%30), Referrer: "https://example.org/somewhere", Browser: "Firefox",
			OS: "Linux", Country: "DE", Language: "de-DE", Screen: "1920x1080", At: time.Now().UnixMilli(), Length: i,
		})
		if err != nil {
			b.Fatal(err)
		}
		image := make(map[string]streamtypes.AttributeValue, len(it))
		for name, v := range it {
			switch v := v.(type) {
			case *types.AttributeValueMemberS:
				image[name] = &streamtypes.AttributeValueMemberS{Value: v.Value}
			case *types.AttributeValueMemberN:
				image[name] = &streamtypes.AttributeValueMemberN{Value: v.Value}
			}
		}
		page[i] = streamtypes.Record{EventName: streamtypes.OperationTypeInsert, Dynamodb: &streamtypes.StreamRecord{NewImage: image}}
	}
	return page
}

// BenchmarkFold processes a stream of page views with two folds: one with few items, and one with
// an item per visitor. One operation is one change, from reading the record to writing the items.
func BenchmarkFold(b *testing.B) {
	src := &endless{page: hitPage(b), left: b.N}
	w, err := fold.NewWorker(table.New(absorbing{}, "bench", table.Options{}), streamsource.New(src, "arn"), []*fold.Fold{
		tallyFold(tallies, func(h *hit) string { return h.Country }),
		tallyFold(visits, func(h *hit) string { return h.Visitor }),
	}, fold.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.ResetTimer()
	if err := w.Drain(b.Context()); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "changes/s")
}

// BenchmarkUnread reads a stream whose changes no fold reads.
func BenchmarkUnread(b *testing.B) {
	src := &endless{page: hitPage(b), left: b.N}
	w, err := fold.NewWorker(table.New(absorbing{}, "bench", table.Options{}), streamsource.New(src, "arn"),
		[]*fold.Fold{worldFold()}, fold.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.ResetTimer()
	if err := w.Drain(b.Context()); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "changes/s")
}

// BenchmarkEngine folds the changes in the stream of an embedded engine.
func BenchmarkEngine(b *testing.B) {
	e := openEngine(b, engine.Options{StreamShards: 2})
	t := e.table()
	const part = 1000
	for from := 0; from < b.N; from += part {
		batch := make([]order, 0, part)
		for i := from; i < min(b.N, from+part); i++ {
			batch = append(batch, order{orderKey{fmt.Sprint(i)}, fmt.Sprint("r", i%100), i})
		}
		if err := orders.PutMany(b.Context(), t, batch); err != nil {
			b.Fatal(err)
		}
	}
	w := e.worker(b, e.db, fold.Options{})
	b.ReportAllocs()
	b.ResetTimer()
	if err := w.Drain(b.Context()); err != nil {
		b.Fatal(err)
	}
	if got := w.Status().Changes; got < int64(b.N) {
		b.Fatalf("%d changes were folded of %d", got, b.N)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "changes/s")
}
