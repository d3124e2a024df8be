package fold_test

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/fold/streamsource"
)

func TestSequencesCompareByLengthFirst(t *testing.T) {
	got := []fold.Sequence{"10", "9", "", "100", "99", "11"}
	slices.SortFunc(got, fold.Sequence.Compare)
	if want := []fold.Sequence{"", "9", "10", "11", "99", "100"}; !slices.Equal(got, want) {
		t.Errorf("sorted %v, want %v", got, want)
	}
}

// script is a stream with one shard. The test controls when its iterators expire and its records
// are trimmed. An iterator is the sequence number at which it starts.
type script struct {
	first, last int  // records that are kept
	closed      bool // no more records will come
	expire      bool // the next use of an iterator fails
	iterators   int  // number of iterators created
}

func (s *script) ListStreams(context.Context, *dynamodbstreams.ListStreamsInput, ...func(*dynamodbstreams.Options)) (*dynamodbstreams.ListStreamsOutput, error) {
	return &dynamodbstreams.ListStreamsOutput{}, nil
}

// DescribeStream returns one shard per page.
func (s *script) DescribeStream(_ context.Context, in *dynamodbstreams.DescribeStreamInput, _ ...func(*dynamodbstreams.Options)) (*dynamodbstreams.DescribeStreamOutput, error) {
	parent := streamtypes.Shard{ShardId: ptr("p"), SequenceNumberRange: &streamtypes.SequenceNumberRange{EndingSequenceNumber: ptr("9")}}
	child := streamtypes.Shard{ShardId: ptr("c"), ParentShardId: ptr("p"), SequenceNumberRange: &streamtypes.SequenceNumberRange{}}
	if in.ExclusiveStartShardId == nil {
		return &dynamodbstreams.DescribeStreamOutput{StreamDescription: &streamtypes.StreamDescription{
			Shards: []streamtypes.Shard{parent}, LastEvaluatedShardId: ptr("p"),
		}}, nil
	}
	return &dynamodbstreams.DescribeStreamOutput{StreamDescription: &streamtypes.StreamDescription{Shards: []streamtypes.Shard{child}}}, nil
}

func (s *script) GetShardIterator(_ context.Context, in *dynamodbstreams.GetShardIteratorInput, _ ...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetShardIteratorOutput, error) {
	s.iterators++
	at := s.first
	if in.SequenceNumber != nil {
		seq, err := strconv.Atoi(*in.SequenceNumber)
		if err != nil {
			return nil, err
		}
		if at = seq + 1; at < s.first {
			return nil, &streamtypes.TrimmedDataAccessException{}
		}
	}
	return &dynamodbstreams.GetShardIteratorOutput{ShardIterator: ptr(strconv.Itoa(at))}, nil
}

func (s *script) GetRecords(_ context.Context, in *dynamodbstreams.GetRecordsInput, _ ...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetRecordsOutput, error) {
	if s.expire {
		s.expire = false
		return nil, &streamtypes.ExpiredIteratorException{}
	}
	at, err := strconv.Atoi(*in.ShardIterator)
	if err != nil {
		return nil, err
	}
	if at < s.first {
		return nil, &streamtypes.TrimmedDataAccessException{}
	}
	out := &dynamodbstreams.GetRecordsOutput{}
	for ; at <= s.last && len(out.Records) < int(*in.Limit); at++ {
		out.Records = append(out.Records, streamtypes.Record{EventName: streamtypes.OperationTypeModify, Dynamodb: &streamtypes.StreamRecord{
			SequenceNumber: ptr(strconv.Itoa(at)),
			NewImage:       map[string]streamtypes.AttributeValue{"et": &streamtypes.AttributeValueMemberS{Value: fmt.Sprint("e", at%2)}},
		}})
	}
	if !s.closed || at <= s.last {
		out.NextShardIterator = ptr(strconv.Itoa(at))
	}
	return out, nil
}

// These are the ARNs of a stream in an emulator and of a stream in DynamoDB.
const (
	emulated = "arn:aws:dynamodb:us-east-1:000000000000:table/t/stream/s"
	hosted   = "arn:aws:dynamodb:us-east-1:123456789012:table/t/stream/s"
)

// TestSingleEmptyPageIsNotTheTip reads a shard as DynamoDB serves it: an answer can be empty although
// there is more, and a shard may be read at most five times per second.
func TestSingleEmptyPageIsNotTheTip(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{first: 1, last: 5}
		src := streamsource.New(s, hosted)
		began := time.Now()
		at := fold.Sequence("")
		var tips []bool
		var since []uint64
		for range 10 {
			if len(tips) == 4 {
				s.last = 7 // two records that have not been found yet
			}
			b, err := src.Read(t.Context(), fold.ReadRequest{Shard: "c", After: at, Max: 9, Turn: uint64(len(tips))})
			if err != nil {
				t.Fatal(err)
			}
			at, tips = b.Last, append(tips, b.Tip)
			if b.Tip {
				since = append(since, b.Since)
			}
		}
		want := []bool{false, false, false, false, false, false, false, false, true, true}
		if !slices.Equal(tips, want) {
			t.Errorf("tips are %v, want %v", tips, want)
		}
		if want := []uint64{5, 6}; !slices.Equal(since, want) { // each tip rests on the last four reads and no earlier ones
			t.Errorf("the tips are since turns %v, want %v", since, want)
		}
		if took := time.Since(began); took < 9*200*time.Millisecond {
			t.Errorf("10 reads of a shard took %s, want five a second", took)
		}
	})
}

// late is a DynamoDB stream that returns nothing for some reads although there are records.
type late struct {
	dynamo.Streams
	arn   string
	empty int // number of empty reads still to come
}

func (l *late) DescribeStream(ctx context.Context, in *dynamodbstreams.DescribeStreamInput, o ...func(*dynamodbstreams.Options)) (*dynamodbstreams.DescribeStreamOutput, error) {
	is := *in
	is.StreamArn = &l.arn
	return l.Streams.DescribeStream(ctx, &is, o...)
}

func (l *late) GetShardIterator(ctx context.Context, in *dynamodbstreams.GetShardIteratorInput, o ...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetShardIteratorOutput, error) {
	is := *in
	is.StreamArn = &l.arn
	return l.Streams.GetShardIterator(ctx, &is, o...)
}

func (l *late) GetRecords(ctx context.Context, in *dynamodbstreams.GetRecordsInput, o ...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetRecordsOutput, error) {
	if l.empty > 0 {
		l.empty--
		return &dynamodbstreams.GetRecordsOutput{NextShardIterator: in.ShardIterator}, nil
	}
	return l.Streams.GetRecords(ctx, in, o...)
}

// TestBarrierIgnoresEarlierPages has an idle shard, and then a change that only the fourth read
// after the barrier finds. It tests the worker that reads the shard, and a worker that looks ahead in
// a shard that another worker reads.
func TestBarrierIgnoresEarlierPages(t *testing.T) {
	for _, leaseFree := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			b := openEngine(t, engine.Options{TTLInterval: -1})
			tab := b.table()
			src := &late{Streams: b.db, arn: b.arn}
			if leaseFree {
				drain(t, newWorker(t, tab, streamsource.New(b.db, b.arn), fold.Options{Leases: true, LeaseFor: time.Hour, Owner: "owner"}, totalsFold()))
			}
			w := newWorker(t, tab, streamsource.New(src, hosted), fold.Options{Leases: leaseFree, LeaseFree: leaseFree, Owner: "w"}, totalsFold())
			for range 3 {
				drain(t, w)
			}
			put(t, tab, order{orderKey{"1"}, "r", 1})
			src.empty = 3
			drain(t, w)
			if got, err := totals.Get(t.Context(), tab, totalKey{"r"}); err != nil || got.Amount != 1 {
				t.Errorf("lease-free %v: behind the barrier the total is %+v (%v), want 1", leaseFree, got, err)
			}
		})
	}
}

func TestStreamsListsEveryPage(t *testing.T) {
	got, err := streamsource.New(&script{}, emulated).Shards(t.Context())
	want := []fold.Shard{{ID: "p", Closed: true}, {ID: "c", Parent: "p"}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("shards are %v (%v), want %v", got, err, want)
	}
}

func TestStreamsReads(t *testing.T) {
	s := &script{first: 1, last: 5}
	src := streamsource.New(s, emulated)
	read := func(after fold.Sequence, n int) fold.Batch {
		t.Helper()
		b, err := src.Read(t.Context(), fold.ReadRequest{Shard: "c", After: after, Max: n})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	expect := func(what string, b fold.Batch, first, last int, flags string) {
		t.Helper()
		var got []string
		for _, c := range b.Changes {
			got = append(got, string(c.Seq))
		}
		var want []string
		for i := first; i <= last; i++ {
			want = append(want, strconv.Itoa(i))
		}
		is := fmt.Sprintf("tip=%v end=%v missed=%v", b.Tip, b.End, b.Trimmed)
		if !slices.Equal(got, want) || is != flags {
			t.Errorf("%s: %v %s, want %v %s", what, got, is, want, flags)
		}
	}
	expect("from the start", read("", 3), 1, 3, "tip=false end=false missed=false")
	expect("further", read("3", 3), 4, 5, "tip=false end=false missed=false")
	expect("at the tip", read("5", 3), 1, 0, "tip=true end=false missed=false")
	if s.iterators != 1 {
		t.Errorf("%d iterators were made, want 1", s.iterators)
	}
	s.last, s.expire = 7, true
	expect("after the iterator expired", read("5", 9), 6, 7, "tip=false end=false missed=false")
	expect("back", read("4", 1), 5, 5, "tip=false end=false missed=false")
	s.first, s.last = 20, 21
	expect("after a trim, with an iterator", read("5", 1), 20, 20, "tip=false end=false missed=true")
	expect("after a trim, without", read("7", 1), 20, 20, "tip=false end=false missed=true")
	s.closed = true
	expect("to the end", read("20", 9), 21, 21, "tip=false end=true missed=false")
}

func TestStreamsSkipsUnwantedEntities(t *testing.T) {
	b, err := streamsource.New(&script{first: 1, last: 5}, emulated).Read(t.Context(), fold.ReadRequest{
		Shard: "c", Max: 10, Want: func(entity string) bool { return entity == "e0" },
	})
	if err != nil || len(b.Changes) != 2 || b.Read != 5 || b.Last != "5" {
		t.Errorf("got %+v (%v), want changes 2 and 4 of 5", b, err)
	}
}

// TestImagesAreConverted sends every attribute type through the engine's stream and back.
func TestImagesAreConverted(t *testing.T) {
	b := openEngine(t, engine.Options{})
	item := map[string]types.AttributeValue{
		"pk": &types.AttributeValueMemberS{Value: "p"}, "sk": &types.AttributeValueMemberS{Value: "s"},
		"n": &types.AttributeValueMemberN{Value: "-1.5"}, "b": &types.AttributeValueMemberB{Value: []byte{0, 255}},
		"bool": &types.AttributeValueMemberBOOL{Value: true}, "null": &types.AttributeValueMemberNULL{Value: true},
		"ss": &types.AttributeValueMemberSS{Value: []string{"a", "b"}}, "ns": &types.AttributeValueMemberNS{Value: []string{"1"}},
		"bs": &types.AttributeValueMemberBS{Value: [][]byte{{1}}},
		"l": &types.AttributeValueMemberL{Value: []types.AttributeValue{
			&types.AttributeValueMemberS{Value: "in a list"}, &types.AttributeValueMemberN{Value: "2"},
		}},
		"m": &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{"k": &types.AttributeValueMemberN{Value: "3"}}},
	}
	for i := range 20 { // more strings than the code reserves at once
		item[fmt.Sprint("s", i)] = &types.AttributeValueMemberS{Value: fmt.Sprint(i)}
	}
	if _, err := b.db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: ptr("table"), Item: item}); err != nil {
		t.Fatal(err)
	}
	changes := readAll(t, streamsource.New(b.db, b.arn))
	if len(changes) != 1 || changes[0].Kind != fold.Insert || !reflect.DeepEqual(changes[0].New, item) || changes[0].Old != nil {
		t.Errorf("changes are %+v, want the insertion of %v", changes, item)
	}
}

func readAll(t *testing.T, src fold.Source) []fold.Change {
	t.Helper()
	shards, err := src.Shards(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var all []fold.Change
	for _, sh := range shards {
		b, err := src.Read(t.Context(), fold.ReadRequest{Shard: sh.ID, Max: 1000})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, b.Changes...)
	}
	return all
}

// TestServiceRemovalsAreExpirations deletes one item and lets another expire. Only the expiry must be
// marked as a removal by the service.
func TestServiceRemovalsAreExpirations(t *testing.T) {
	clock := newClock()
	b := openEngine(t, engine.Options{Clock: clock.now, TTLInterval: -1})
	for _, pk := range []string{"deleted", "expired"} {
		it := map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: pk}, "sk": &types.AttributeValueMemberS{Value: "s"}}
		if pk == "expired" {
			it["ttl"] = &types.AttributeValueMemberN{Value: strconv.FormatInt(clock.now().Unix()+60, 10)}
		}
		if _, err := b.db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: ptr("table"), Item: it}); err != nil {
			t.Fatal(err)
		}
	}
	key := map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "deleted"}, "sk": &types.AttributeValueMemberS{Value: "s"}}
	if _, err := b.db.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: ptr("table"), Key: key}); err != nil {
		t.Fatal(err)
	}
	clock.add(time.Hour)
	if _, err := b.db.ExpireNow(t.Context()); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range readAll(t, streamsource.New(b.db, b.arn)) {
		if c.Kind == fold.Remove {
			got = append(got, fmt.Sprint(c.Old["pk"].(*types.AttributeValueMemberS).Value, " ", c.Expired))
		}
	}
	slices.Sort(got)
	if want := []string{"deleted false", "expired true"}; !slices.Equal(got, want) {
		t.Errorf("removals are %v, want %v", got, want)
	}
}
