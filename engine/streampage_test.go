package engine_test

import (
	"context"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/aws/smithy-go"

	"github.com/onefold/onefold/engine"
)

// rolled returns a table whose stream has two shards, each with a child, and the ARN and shards of
// that stream.
func rolled(t *testing.T) (*engine.DB, *string, []streamtypes.Shard) {
	t.Helper()
	ctx, db := context.Background(), memory(t, engine.Options{StreamShards: 2})
	arn := must[*dynamodb.CreateTableOutput](t)(db.CreateTable(ctx, tableInput("table"))).TableDescription.LatestStreamArn
	if err := db.RollShards(ctx, "table"); err != nil {
		t.Fatal(err)
	}
	out := must[*dynamodbstreams.DescribeStreamOutput](t)(db.DescribeStream(ctx, &dynamodbstreams.DescribeStreamInput{StreamArn: arn}))
	if len(out.StreamDescription.Shards) != 4 {
		t.Fatalf("%d shards, want 4", len(out.StreamDescription.Shards))
	}
	return db, arn, out.StreamDescription.Shards
}

// TestShardPages describes a stream page by page, and the children of each shard.
func TestShardPages(t *testing.T) {
	db, arn, shards := rolled(t)
	page := func(in *dynamodbstreams.DescribeStreamInput) (ids string, last *string) {
		in.StreamArn = arn
		out := must[*dynamodbstreams.DescribeStreamOutput](t)(db.DescribeStream(context.Background(), in)).StreamDescription
		if out.Shards == nil {
			t.Errorf("a page of %+v has no list of shards", in)
		}
		for _, sh := range out.Shards {
			ids += *sh.ShardId + " "
		}
		return ids, out.LastEvaluatedShardId
	}
	if ids, last := page(&dynamodbstreams.DescribeStreamInput{Limit: ptr(int32(2))}); ids != *shards[0].ShardId+" "+*shards[1].ShardId+" " || *last != *shards[1].ShardId {
		t.Errorf("first page: %s, then after %v", ids, last)
	}
	if ids, last := page(&dynamodbstreams.DescribeStreamInput{ExclusiveStartShardId: shards[3].ShardId}); ids != "" || last != nil {
		t.Errorf("after the last shard: %s, then after %v", ids, last)
	}
	for _, parent := range shards {
		want := ""
		for _, sh := range shards {
			if sh.ParentShardId != nil && *sh.ParentShardId == *parent.ShardId {
				want += *sh.ShardId + " "
			}
		}
		ids, last := page(&dynamodbstreams.DescribeStreamInput{ShardFilter: &streamtypes.ShardFilter{Type: streamtypes.ShardFilterTypeChildShards, ShardId: parent.ShardId}})
		if ids != want || last != nil {
			t.Errorf("children of %s: %s, want %s", *parent.ShardId, ids, want)
		}
	}
}

// TestStreamRequestsAreChecked sends requests that the API's model does not allow, and requests for
// things that do not exist.
func TestStreamRequestsAreChecked(t *testing.T) {
	db, arn, shards := rolled(t)
	ctx, id := context.Background(), shards[0].ShardId
	noArn, noShard := ptr(strings.Replace(*arn, "/stream/2", "/stream/1", 1)), ptr("shardId-00000000000000000000-00000000")
	check := func(name, code, message string, err error) {
		t.Helper()
		api, ok := err.(smithy.APIError)
		if !ok || api.ErrorCode() != code || !strings.Contains(api.ErrorMessage(), message) {
			t.Errorf("%s: %v, want %s with %q", name, err, code, message)
		}
	}
	const invalid, absent = "ValidationException", "ResourceNotFoundException"
	for _, c := range []struct {
		name, code, message string
		in                  dynamodbstreams.ListStreamsInput
	}{
		{"table name too short", invalid, "'tableName'", dynamodbstreams.ListStreamsInput{TableName: ptr("ab")}},
		{"table name of wrong letters", invalid, "'tableName'", dynamodbstreams.ListStreamsInput{TableName: ptr("a b c")}},
		{"limit 0", invalid, "'limit'", dynamodbstreams.ListStreamsInput{Limit: ptr(int32(0))}},
		{"limit 101", invalid, "'limit'", dynamodbstreams.ListStreamsInput{Limit: ptr(int32(101))}},
		{"start too short", invalid, "'exclusiveStartStreamArn'", dynamodbstreams.ListStreamsInput{ExclusiveStartStreamArn: ptr("arn")}},
		{"start nowhere", absent, "", dynamodbstreams.ListStreamsInput{ExclusiveStartStreamArn: noArn}},
	} {
		_, err := db.ListStreams(ctx, &c.in)
		check("ListStreams: "+c.name, c.code, c.message, err)
	}
	filter := func(kind streamtypes.ShardFilterType, id *string) *streamtypes.ShardFilter {
		return &streamtypes.ShardFilter{Type: kind, ShardId: id}
	}
	for _, c := range []struct {
		name, code, message string
		in                  dynamodbstreams.DescribeStreamInput
	}{
		{"no stream", invalid, "'streamArn'", dynamodbstreams.DescribeStreamInput{}},
		{"stream too short", invalid, "'streamArn'", dynamodbstreams.DescribeStreamInput{StreamArn: ptr("arn")}},
		{"stream nowhere", absent, "", dynamodbstreams.DescribeStreamInput{StreamArn: noArn}},
		{"limit 0", invalid, "'limit'", dynamodbstreams.DescribeStreamInput{StreamArn: arn, Limit: ptr(int32(0))}},
		{"start too short", invalid, "'exclusiveStartShardId'", dynamodbstreams.DescribeStreamInput{StreamArn: arn, ExclusiveStartShardId: ptr("s")}},
		{"start nowhere", absent, "", dynamodbstreams.DescribeStreamInput{StreamArn: arn, ExclusiveStartShardId: noShard}},
		{"unknown filter", invalid, "'shardFilter.type'", dynamodbstreams.DescribeStreamInput{StreamArn: arn, ShardFilter: filter("NOPE", id)}},
		{"filter without type", invalid, "ShardFilter", dynamodbstreams.DescribeStreamInput{StreamArn: arn, ShardFilter: filter("", id)}},
		{"filter without shard", invalid, "ShardFilter", dynamodbstreams.DescribeStreamInput{StreamArn: arn, ShardFilter: filter(streamtypes.ShardFilterTypeChildShards, nil)}},
		{"filter of a shard nowhere", absent, "", dynamodbstreams.DescribeStreamInput{StreamArn: arn, ShardFilter: filter(streamtypes.ShardFilterTypeChildShards, noShard)}},
	} {
		_, err := db.DescribeStream(ctx, &c.in)
		check("DescribeStream: "+c.name, c.code, c.message, err)
	}
	for _, c := range []struct {
		name, code, message string
		in                  dynamodbstreams.GetShardIteratorInput
	}{
		{"nothing", invalid, "3 validation errors", dynamodbstreams.GetShardIteratorInput{}},
		{"unknown type", invalid, "'shardIteratorType'", dynamodbstreams.GetShardIteratorInput{StreamArn: arn, ShardId: id, ShardIteratorType: "NOPE"}},
		{"shard too short", invalid, "'shardId'", dynamodbstreams.GetShardIteratorInput{StreamArn: arn, ShardId: ptr("s"), ShardIteratorType: "LATEST"}},
		{"number too short", invalid, "'sequenceNumber'", dynamodbstreams.GetShardIteratorInput{StreamArn: arn, ShardId: id, ShardIteratorType: "AT_SEQUENCE_NUMBER", SequenceNumber: ptr("1")}},
		{"no number", invalid, "Sequence number must be specified", dynamodbstreams.GetShardIteratorInput{StreamArn: arn, ShardId: id, ShardIteratorType: "AT_SEQUENCE_NUMBER"}},
		{"stream nowhere", absent, "", dynamodbstreams.GetShardIteratorInput{StreamArn: noArn, ShardId: id, ShardIteratorType: "LATEST"}},
		{"shard nowhere", absent, "", dynamodbstreams.GetShardIteratorInput{StreamArn: arn, ShardId: noShard, ShardIteratorType: "LATEST"}},
	} {
		_, err := db.GetShardIterator(ctx, &c.in)
		check("GetShardIterator: "+c.name, c.code, c.message, err)
	}
	it := must[*dynamodbstreams.GetShardIteratorOutput](t)(db.GetShardIterator(ctx, &dynamodbstreams.GetShardIteratorInput{StreamArn: arn, ShardId: id, ShardIteratorType: "LATEST"})).ShardIterator
	for _, c := range []struct {
		name, code, message string
		in                  dynamodbstreams.GetRecordsInput
	}{
		{"no iterator", invalid, "'shardIterator'", dynamodbstreams.GetRecordsInput{}},
		{"empty iterator", invalid, "'shardIterator'", dynamodbstreams.GetRecordsInput{ShardIterator: ptr("")}},
		{"broken iterator", invalid, "Invalid ShardIterator", dynamodbstreams.GetRecordsInput{ShardIterator: ptr("x")}},
		{"limit 0", invalid, "'limit'", dynamodbstreams.GetRecordsInput{ShardIterator: it, Limit: ptr(int32(0))}},
		{"limit 1001", invalid, "'limit'", dynamodbstreams.GetRecordsInput{ShardIterator: it, Limit: ptr(int32(1001))}},
	} {
		_, err := db.GetRecords(ctx, &c.in)
		check("GetRecords: "+c.name, c.code, c.message, err)
	}
}
