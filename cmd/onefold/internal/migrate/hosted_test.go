package migrate_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/onefold/onefold/cmd/internal/storeurl"
	"github.com/onefold/onefold/cmd/onefold/internal/migrate"
	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/engine"
)

// Accounts in ARNs: those of emulators, whose streams are exact, and one of DynamoDB, whose streams
// are not.
const (
	emulated = ":000000000000:"
	hosted   = ":123456789012:"
)

// hostedTable is an embedded table that appears to be on DynamoDB.
type hostedTable struct{ dynamo.API }

func (h hostedTable) DescribeTable(ctx context.Context, in *dynamodb.DescribeTableInput, o ...func(*dynamodb.Options)) (*dynamodb.DescribeTableOutput, error) {
	out, err := h.API.DescribeTable(ctx, in, o...)
	if err == nil {
		arn := strings.Replace(*out.Table.LatestStreamArn, emulated, hosted, 1)
		out.Table.LatestStreamArn = &arn
	}
	return out, err
}

// hostedStream is its stream. Like DynamoDB's it may return empty reads although there are more
// records, and list new shards late.
type hostedStream struct {
	dynamo.Streams
	empty  int // upcoming reads that return nothing
	unseen int // upcoming lists without unknown shards
	known  map[string]bool
}

func here(arn *string) *string {
	is := strings.Replace(*arn, hosted, emulated, 1)
	return &is
}

func (h *hostedStream) DescribeStream(ctx context.Context, in *dynamodbstreams.DescribeStreamInput, o ...func(*dynamodbstreams.Options)) (*dynamodbstreams.DescribeStreamOutput, error) {
	is := *in
	is.StreamArn = here(in.StreamArn)
	out, err := h.Streams.DescribeStream(ctx, &is, o...)
	if err != nil {
		return nil, err
	}
	var listed []streamtypes.Shard
	for _, s := range out.StreamDescription.Shards {
		if h.unseen <= 0 || h.known[*s.ShardId] {
			listed = append(listed, s)
			h.known[*s.ShardId] = true
		}
	}
	h.unseen--
	out.StreamDescription.Shards = listed
	return out, nil
}

func (h *hostedStream) GetShardIterator(ctx context.Context, in *dynamodbstreams.GetShardIteratorInput, o ...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetShardIteratorOutput, error) {
	is := *in
	is.StreamArn = here(in.StreamArn)
	return h.Streams.GetShardIterator(ctx, &is, o...)
}

func (h *hostedStream) GetRecords(ctx context.Context, in *dynamodbstreams.GetRecordsInput, o ...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetRecordsOutput, error) {
	if h.empty > 0 {
		h.empty--
		return &dynamodbstreams.GetRecordsOutput{NextShardIterator: in.ShardIterator}, nil
	}
	return h.Streams.GetRecords(ctx, in, o...)
}

// onDynamoDB returns a table that appears to be on DynamoDB.
func onDynamoDB(t *testing.T, name string, o engine.Options) (migrate.Store, *hostedStream) {
	t.Helper()
	s := memory(t, name, o)
	stream := &hostedStream{Streams: s.Streams, known: map[string]bool{}}
	return migrate.Store{Opened: &storeurl.Opened{API: hostedTable{s.API}, Streams: stream, Table: s.Table}, Name: name}, stream
}

// A stream that was idle while the items were copied returns empty reads at first. Earlier empty
// reads prove nothing about later writes.
func TestCaughtUpRestsOnNewPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from, stream := onDynamoDB(t, "source", engine.Options{StreamShards: 1})
		to := memory(t, "target", engine.Options{StreamShards: 1})
		put(t, from.API, "a", "1")
		unhurried := func(o *migrate.Options) { o.Sleep = nil }
		m := mustBegin(t, from, to, unhurried)
		if err := m.Copy(t.Context()); err != nil {
			t.Fatal(err)
		}
		put(t, from.API, "b", "2")
		stream.empty = 3
		if err := m.Follow(t.Context(), func() bool { return true }); err != nil {
			t.Fatal(err)
		}
		mustEqual(t, from.API, to.API)
		if err := m.Release(t.Context()); err != nil { // another process that continues does so too
			t.Fatal(err)
		}
		put(t, from.API, "c", "3")
		stream.empty = 3
		if err := mustBegin(t, from, to, unhurried).Follow(t.Context(), func() bool { return true }); err != nil {
			t.Fatal(err)
		}
		mustEqual(t, from.API, to.API)
	})
}

// New shards may not be listed yet although their parent has ended. Their records are neither left
// behind in the source, nor taken for new ones in the target.
func TestFinishWaitsForShardsThatAreNotListed(t *testing.T) {
	for _, end := range []string{"source", "target"} {
		synctest.Test(t, func(t *testing.T) {
			from, source := onDynamoDB(t, "source", engine.Options{StreamShards: 1, RollEvery: 30})
			to, target := onDynamoDB(t, "target", engine.Options{StreamShards: 1, RollEvery: 30})
			m := mustBegin(t, from, to, func(o *migrate.Options) { o.Sleep, o.Trust = nil, true })
			mustFollow(t, m)
			for i := range 31 { // the last ones are in a new shard
				put(t, from.API, fmt.Sprint(i), "1")
			}
			if end == "source" {
				source.unseen = 60
			} else {
				target.unseen = 60
				mustFollow(t, m)
			}
			if _, err := m.Finish(t.Context()); err != nil {
				t.Fatal(err)
			}
			target.unseen = 0
			mustEqual(t, from.API, to.API)
			mustBeBehind(t, to)
		})
	}
}
