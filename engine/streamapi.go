package engine

import (
	"context"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/engine/internal/catalog"
	"github.com/onefold/onefold/engine/internal/request"
)

func (db *DB) streamARN(d *catalog.Stream) string {
	return db.tableARN(d.Table) + "/stream/" + d.Label
}

// errNoStream is the response for an unknown stream.
func errNoStream(arn string) error {
	msg := "Requested resource not found: Stream: " + arn + " not found"
	return &streamtypes.ResourceNotFoundException{Message: &msg}
}

func (db *DB) streamNamed(arn *string) (*stream, error) {
	for _, st := range *db.streams.Load() {
		if db.streamARN(st.desc.Load()) == *arn {
			return st, nil
		}
	}
	return nil, errNoStream(*arn)
}

// ListStreams returns the streams of a table or of all tables, oldest first.
func (db *DB) ListStreams(ctx context.Context, in *dynamodbstreams.ListStreamsInput, _ ...func(*dynamodbstreams.Options)) (*dynamodbstreams.ListStreamsOutput, error) {
	call, err := begin(ctx, db, &in)
	if err != nil {
		return nil, err
	}
	defer call.End()
	limit, err := request.CheckListStreams(in)
	if err != nil {
		return nil, err
	}
	var descs []*catalog.Stream
	for _, st := range *db.streams.Load() {
		if d := st.desc.Load(); in.TableName == nil || d.Table == request.TableName(in.TableName) {
			descs = append(descs, d)
		}
	}
	slices.SortFunc(descs, func(a, b *catalog.Stream) int { return int(a.ID) - int(b.ID) })
	if in.ExclusiveStartStreamArn != nil {
		i := slices.IndexFunc(descs, func(d *catalog.Stream) bool { return db.streamARN(d) == *in.ExclusiveStartStreamArn })
		if i < 0 { // starting over would make the list endless
			return nil, errNoStream(*in.ExclusiveStartStreamArn)
		}
		descs = descs[i+1:]
	}
	out := &dynamodbstreams.ListStreamsOutput{Streams: []streamtypes.Stream{}}
	for _, d := range descs {
		arn := db.streamARN(d)
		if len(out.Streams) == limit {
			out.LastEvaluatedStreamArn = out.Streams[limit-1].StreamArn
			break
		}
		out.Streams = append(out.Streams, streamtypes.Stream{StreamArn: &arn, StreamLabel: &d.Label, TableName: &d.Table})
	}
	return out, nil
}

// DescribeStream returns a stream and a page of its shards, parents before children.
func (db *DB) DescribeStream(ctx context.Context, in *dynamodbstreams.DescribeStreamInput, _ ...func(*dynamodbstreams.Options)) (*dynamodbstreams.DescribeStreamOutput, error) {
	call, err := begin(ctx, db, &in)
	if err != nil {
		return nil, err
	}
	defer call.End()
	limit, err := request.CheckDescribeStream(in)
	if err != nil {
		return nil, err
	}
	st, err := db.streamNamed(in.StreamArn)
	if err != nil {
		return nil, err
	}
	d := st.desc.Load()
	out := d.Describe(db.streamARN(d))
	if out.Shards, out.LastEvaluatedShardId, err = d.Page(in, limit); err != nil {
		return nil, err
	}
	return &dynamodbstreams.DescribeStreamOutput{StreamDescription: out}, nil
}

// iteratorLife is how long an iterator is valid.
const iteratorLife = 15 * time.Minute

// GetShardIterator returns a position for reading a shard, valid for 15 minutes.
func (db *DB) GetShardIterator(ctx context.Context, in *dynamodbstreams.GetShardIteratorInput, _ ...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetShardIteratorOutput, error) {
	call, err := begin(ctx, db, &in)
	if err != nil {
		return nil, err
	}
	defer call.End()
	if err := request.CheckGetShardIterator(in); err != nil {
		return nil, err
	}
	st, err := db.streamNamed(in.StreamArn)
	if err != nil {
		return nil, err
	}
	sh, err := st.desc.Load().FindShard(*in.ShardId)
	if err != nil {
		return nil, err
	}
	next, err := db.startAt(in, sh)
	if err != nil {
		return nil, err
	}
	it := catalog.Position{Stream: st.id, Shard: sh.ID, Next: next, Made: db.now().UnixMilli()}.Encode()
	return &dynamodbstreams.GetShardIteratorOutput{ShardIterator: &it}, nil
}

// startAt returns the first sequence number that an iterator should return.
func (db *DB) startAt(in *dynamodbstreams.GetShardIteratorInput, sh catalog.Shard) (uint64, error) {
	switch in.ShardIteratorType {
	case streamtypes.ShardIteratorTypeTrimHorizon:
		return sh.First, nil
	case streamtypes.ShardIteratorTypeLatest:
		return db.applied.Load() + 1, nil
	}
	seq, ok := catalog.ParseSequence(*in.SequenceNumber)
	if !ok || sh.Closed && seq > max(sh.First, sh.Last) { // also the first number of a shard that was closed without records
		return 0, dynamo.Validation("Invalid SequenceNumber: %s is not in the shard", *in.SequenceNumber)
	}
	if in.ShardIteratorType == streamtypes.ShardIteratorTypeAfterSequenceNumber {
		seq++
	}
	if seq < sh.First {
		return 0, errTrimmed()
	}
	return seq, nil
}

func errTrimmed() error {
	msg := "The sequence number is beyond the trim horizon: its records have been removed"
	return &streamtypes.TrimmedDataAccessException{Message: &msg}
}

// RollShards closes every open shard of a table's stream and opens children. It is for tests of
// consumers.
func (db *DB) RollShards(ctx context.Context, table string) error {
	call, err := db.begin(ctx)
	if err != nil {
		return err
	}
	defer call.End()
	c := db.newCommit(0)
	s, err := c.enterTable(&table)
	if err != nil {
		return c.abandon(err)
	}
	if s.stream == nil {
		return c.abandon(dynamo.Validation("Table has no enabled stream: TableName: %s", table))
	}
	for slot := range s.stream.open {
		c.rolls = append(c.rolls, shardSlot{s.stream, slot})
	}
	return c.finish()
}
