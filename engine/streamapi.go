package engine

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/onefold/onefold/dynamo"
)

func (db *DB) streamARN(d *streamDesc) string {
	return db.tableARN(d.Table) + "/stream/" + d.Label
}

// sequenceText writes a sequence number as DynamoDB does: decimal, at least 21 digits. Equal lengths make the order of
// the texts that of the numbers.
func sequenceText(seq uint64) string {
	s := strconv.FormatUint(seq, 10)
	return "100000000000000000000"[:21-len(s)] + s
}

// parseSequence reads what sequenceText wrote.
func parseSequence(s string) (uint64, bool) {
	if len(s) != 21 || s[0] != '1' {
		return 0, false
	}
	seq, err := strconv.ParseUint(s[1:], 10, 64)
	return seq, err == nil
}

// shardID names a shard; it contains when the shard was opened, as DynamoDB's do.
func shardID(sh shardDesc) string {
	return fmt.Sprintf("shardId-%020d-%08x", sh.Opened, sh.ID)
}

// findShard finds a shard by its name.
func (d *streamDesc) findShard(id string) (shardDesc, bool) {
	_, hex, ok := strings.Cut(strings.TrimPrefix(id, "shardId-"), "-")
	n, err := strconv.ParseUint(hex, 16, 32)
	if !ok || err != nil {
		return shardDesc{}, false
	}
	sh, found := d.shard(uint32(n))
	return sh, found && shardID(sh) == id
}

// errNoStream is the answer to a name that no stream has.
func errNoStream(arn string) error {
	msg := "Requested resource not found: Stream: " + arn + " not found"
	return &streamtypes.ResourceNotFoundException{Message: &msg}
}

func (db *DB) streamNamed(arn *string) (*stream, error) {
	if arn == nil {
		return nil, dynamo.Validation("1 validation error detected: Value null at 'streamArn' failed to satisfy constraint: Member must not be null")
	}
	for _, st := range *db.streams.Load() {
		if db.streamARN(st.desc.Load()) == *arn {
			return st, nil
		}
	}
	return nil, errNoStream(*arn)
}

const maxStreamPage = 100

func streamLimit(limit *int32) (int, error) {
	if limit == nil {
		return maxStreamPage, nil
	}
	if *limit < 1 || *limit > maxStreamPage {
		bound := "greater than or equal to 1"
		if *limit > maxStreamPage {
			bound = "less than or equal to 100"
		}
		return 0, dynamo.Validation("1 validation error detected: Value '%d' at 'limit' failed to satisfy constraint: Member must have value %s", *limit, bound)
	}
	return int(*limit), nil
}

// ListStreams returns the streams of a table or of all tables, oldest first.
func (db *DB) ListStreams(ctx context.Context, in *dynamodbstreams.ListStreamsInput, _ ...func(*dynamodbstreams.Options)) (*dynamodbstreams.ListStreamsOutput, error) {
	if err := db.begin(ctx); err != nil {
		return nil, err
	}
	limit, err := streamLimit(in.Limit)
	if err != nil {
		return nil, err
	}
	var descs []*streamDesc
	for _, st := range *db.streams.Load() {
		if d := st.desc.Load(); in.TableName == nil || d.Table == tableName(in.TableName) {
			descs = append(descs, d)
		}
	}
	slices.SortFunc(descs, func(a, b *streamDesc) int { return int(a.ID) - int(b.ID) })
	if in.ExclusiveStartStreamArn != nil {
		i := slices.IndexFunc(descs, func(d *streamDesc) bool { return db.streamARN(d) == *in.ExclusiveStartStreamArn })
		descs = descs[i+1:]
	}
	out := new(dynamodbstreams.ListStreamsOutput)
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
	if err := db.begin(ctx); err != nil {
		return nil, err
	}
	limit, err := streamLimit(in.Limit)
	if err != nil {
		return nil, err
	}
	st, err := db.streamNamed(in.StreamArn)
	if err != nil {
		return nil, err
	}
	d := st.desc.Load()
	shards := d.Shards
	if in.ExclusiveStartShardId != nil {
		last, found := d.findShard(*in.ExclusiveStartShardId)
		if !found {
			return nil, errNoShard(*in.ExclusiveStartShardId)
		}
		i := slices.IndexFunc(shards, func(sh shardDesc) bool { return sh.ID > last.ID })
		if i < 0 {
			i = len(shards)
		}
		shards = shards[i:]
	}
	out := db.describeStreamDesc(d)
	for _, sh := range shards {
		if len(out.Shards) == limit {
			out.LastEvaluatedShardId = out.Shards[limit-1].ShardId
			break
		}
		out.Shards = append(out.Shards, d.describeShard(sh))
	}
	return &dynamodbstreams.DescribeStreamOutput{StreamDescription: out}, nil
}

func errNoShard(id string) error {
	msg := "Requested resource not found: Shard does not exist: " + id
	return &streamtypes.ResourceNotFoundException{Message: &msg}
}

func (db *DB) describeStreamDesc(d *streamDesc) *streamtypes.StreamDescription {
	arn, created := db.streamARN(d), time.UnixMilli(d.Created).UTC()
	sd := &streamtypes.StreamDescription{
		StreamArn: &arn, StreamLabel: &d.Label, TableName: &d.Table, CreationRequestDateTime: &created,
		StreamStatus: streamtypes.StreamStatusEnabled, StreamViewType: streamtypes.StreamViewType(d.View),
		KeySchema: []streamtypes.KeySchemaElement{{AttributeName: &d.Hash.Name, KeyType: streamtypes.KeyTypeHash}},
	}
	if d.Range.Name != "" {
		sd.KeySchema = append(sd.KeySchema, streamtypes.KeySchemaElement{AttributeName: &d.Range.Name, KeyType: streamtypes.KeyTypeRange})
	}
	if d.Disabled != 0 {
		sd.StreamStatus = streamtypes.StreamStatusDisabled
	}
	return sd
}

func (d *streamDesc) describeShard(sh shardDesc) streamtypes.Shard {
	id, first := shardID(sh), sequenceText(sh.First)
	out := streamtypes.Shard{ShardId: &id, SequenceNumberRange: &streamtypes.SequenceNumberRange{StartingSequenceNumber: &first}}
	if sh.Parent != 0 {
		// The parent may have been trimmed; its id is told all the same, as DynamoDB does.
		parent := shardID(shardDesc{ID: sh.Parent, Opened: sh.ParentOpened})
		out.ParentShardId = &parent
	}
	if sh.Closed {
		last := sequenceText(sh.Last)
		out.SequenceNumberRange.EndingSequenceNumber = &last
	}
	return out
}

// iteratorLife is how long an iterator can be used.
const iteratorLife = 15 * time.Minute

// position is what a shard iterator holds: version 1 | stream 4 | shard 4 | next sequence number 8 | made at 8.
type position struct {
	stream, shard uint32
	next          uint64
	made          int64 // milliseconds since 1970
}

const (
	positionVersion = 1
	positionLen     = 1 + 4 + 4 + 8 + 8
)

func (p position) encode() string {
	b := make([]byte, 0, positionLen)
	b = binary.BigEndian.AppendUint32(append(b, positionVersion), p.stream)
	b = binary.BigEndian.AppendUint32(b, p.shard)
	b = binary.BigEndian.AppendUint64(b, p.next)
	b = binary.BigEndian.AppendUint64(b, uint64(p.made))
	return base64.RawURLEncoding.EncodeToString(b)
}

func parsePosition(s *string) (position, error) {
	if s == nil {
		return position{}, dynamo.Validation("1 validation error detected: Value null at 'shardIterator' failed to satisfy constraint: Member must not be null")
	}
	b, err := base64.RawURLEncoding.DecodeString(*s)
	if err != nil || len(b) != positionLen || b[0] != positionVersion {
		return position{}, dynamo.Validation("Invalid ShardIterator")
	}
	return position{
		stream: binary.BigEndian.Uint32(b[1:]), shard: binary.BigEndian.Uint32(b[5:]),
		next: binary.BigEndian.Uint64(b[9:]), made: int64(binary.BigEndian.Uint64(b[17:])),
	}, nil
}

// GetShardIterator returns where to start reading a shard. It is valid for 15 minutes.
func (db *DB) GetShardIterator(ctx context.Context, in *dynamodbstreams.GetShardIteratorInput, _ ...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetShardIteratorOutput, error) {
	if err := db.begin(ctx); err != nil {
		return nil, err
	}
	if in.ShardId == nil {
		return nil, dynamo.Validation("1 validation error detected: Value null at 'shardId' failed to satisfy constraint: Member must not be null")
	}
	st, err := db.streamNamed(in.StreamArn)
	if err != nil {
		return nil, err
	}
	sh, found := st.desc.Load().findShard(*in.ShardId)
	if !found {
		return nil, errNoShard(*in.ShardId)
	}
	next, err := db.startAt(in, sh)
	if err != nil {
		return nil, err
	}
	it := position{stream: st.id, shard: sh.ID, next: next, made: db.now().UnixMilli()}.encode()
	return &dynamodbstreams.GetShardIteratorOutput{ShardIterator: &it}, nil
}

// startAt returns the first sequence number that an iterator is to return.
func (db *DB) startAt(in *dynamodbstreams.GetShardIteratorInput, sh shardDesc) (uint64, error) {
	switch in.ShardIteratorType {
	case streamtypes.ShardIteratorTypeTrimHorizon:
		return sh.First, nil
	case streamtypes.ShardIteratorTypeLatest:
		return db.applied.Load() + 1, nil
	case streamtypes.ShardIteratorTypeAtSequenceNumber, streamtypes.ShardIteratorTypeAfterSequenceNumber:
	default:
		var c constraints
		c.addEnum(string(in.ShardIteratorType), "shardIteratorType", []string{"AFTER_SEQUENCE_NUMBER", "LATEST", "AT_SEQUENCE_NUMBER", "TRIM_HORIZON"})
		return 0, c.err()
	}
	if in.SequenceNumber == nil {
		return 0, dynamo.Validation("Sequence number must be specified for a ShardIteratorType of %s", in.ShardIteratorType)
	}
	seq, ok := parseSequence(*in.SequenceNumber)
	if !ok || sh.Closed && seq > sh.Last {
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

// RollShards closes every open shard of a table's stream; a child follows each. It exists for tests of consumers.
func (db *DB) RollShards(ctx context.Context, table string) error {
	if err := db.begin(ctx); err != nil {
		return err
	}
	c := db.newCommit(0)
	s, err := c.enter(&table)
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
