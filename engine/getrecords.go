package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/cockroachdb/pebble/v2"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/engine/internal/item"
)

// DynamoDB's bounds of a GetRecords call.
const (
	maxRecords     = 1000
	maxRecordBytes = 1 << 20
)

// GetRecords returns up to 1,000 records or 1 MB of a shard in the order of their sequence numbers, and where to go
// on: nowhere once a closed shard is exhausted.
func (db *DB) GetRecords(ctx context.Context, in *dynamodbstreams.GetRecordsInput, _ ...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetRecordsOutput, error) {
	out := &dynamodbstreams.GetRecordsOutput{Records: []streamtypes.Record{}}
	next, err := db.readRecords(ctx, in, func(st *stream, seq uint64, v []byte) error {
		r, err := db.streamRecord(st, seq, v)
		out.Records = append(out.Records, r)
		return err
	})
	if err != nil {
		return nil, err
	}
	out.NextShardIterator = next
	return out, nil
}

// readRecords hands the records that a GetRecords call asks for to each, and returns the next iterator.
func (db *DB) readRecords(ctx context.Context, in *dynamodbstreams.GetRecordsInput, each func(st *stream, seq uint64, v []byte) error) (*string, error) {
	if err := db.begin(ctx); err != nil {
		return nil, err
	}
	limit := maxRecords
	if in.Limit != nil {
		if limit = int(*in.Limit); limit < 1 || limit > maxRecords {
			return nil, dynamo.Validation("1 validation error detected: Value '%d' at 'limit' failed to satisfy constraint: Member must have value between 1 and 1000", limit)
		}
	}
	p, err := parsePosition(in.ShardIterator)
	if err != nil {
		return nil, err
	}
	now := db.now().UnixMilli()
	if now-p.made > iteratorLife.Milliseconds() {
		msg := "Iterator expired. The iterator was created more than 15 minutes ago"
		return nil, &streamtypes.ExpiredIteratorException{Message: &msg}
	}
	st := (*db.streams.Load())[p.stream]
	if st == nil {
		return nil, errNoStream("of this iterator")
	}
	// The descriptor is read before the records: a shard closed by now has all its records in the store.
	sh, found := st.desc.Load().shard(p.shard)
	if !found || p.next < sh.First {
		return nil, errTrimmed()
	}
	more, err := db.readShard(st, &p, limit, each)
	if err != nil {
		return nil, fmt.Errorf("engine: get records: %w", err)
	}
	if sh.Closed && !more {
		return nil, nil
	}
	p.made = now
	next := p.encode()
	return &next, nil
}

// readShard hands records from a position on to each, moves the position behind them and reports whether it left some.
func (db *DB) readShard(st *stream, p *position, limit int, each func(st *stream, seq uint64, v []byte) error) (more bool, err error) {
	prefix := shardPrefix(st.id, p.shard)
	var from [recordKeyLen]byte
	putRecordKey(from[:], st.id, p.shard, p.next)
	it, err := db.store.NewIter(&pebble.IterOptions{LowerBound: from[:], UpperBound: upperBound(prefix)})
	if err != nil {
		return false, err
	}
	defer func() { err = joinClose(err, it) }()
	size, n := 0, 0
	for ok := it.First(); ok; ok = it.Next() {
		if n == limit || size >= maxRecordBytes {
			return true, nil
		}
		v, err := it.ValueAndErr()
		if err != nil {
			return false, err
		}
		seq := recordSequence(it.Key())
		if err := each(st, seq, v); err != nil {
			return false, err
		}
		size, n, p.next = size+len(v), n+1, seq+1
	}
	return false, it.Error()
}

var (
	eventSource  = "aws:dynamodb"
	eventVersion = "1.1"
)

// recordTime is when a record was made, as precisely as a stream tells it.
func recordTime(millis int64) time.Time { return time.UnixMilli(millis).UTC().Truncate(time.Second) }

// streamRecord decodes a record.
func (db *DB) streamRecord(st *stream, seq uint64, v []byte) (streamtypes.Record, error) {
	r, err := parseRecord(v)
	if err != nil {
		return streamtypes.Record{}, err
	}
	text := sequenceText(seq)
	at := recordTime(r.millis)
	body := &streamtypes.StreamRecord{ApproximateCreationDateTime: &at, SequenceNumber: &text, StreamViewType: streamtypes.StreamViewType(st.view)}
	for _, image := range []struct {
		row []byte
		dst *map[string]streamtypes.AttributeValue
	}{{r.old, &body.OldImage}, {r.new, &body.NewImage}, {r.keys, &body.Keys}} {
		if image.row == nil {
			continue
		}
		if *image.dst, err = decodeImage(image.row); err != nil {
			return streamtypes.Record{}, err
		}
	}
	keys := st.imageKeys(body)
	size := int64(rowSize(r.old) + rowSize(r.new) + keys)
	body.SizeBytes = &size
	id := eventID(st.id, seq)
	rec := streamtypes.Record{AwsRegion: &db.o.Region, Dynamodb: body, EventID: &id, EventName: eventName(r.flags), EventSource: &eventSource, EventVersion: &eventVersion}
	if r.flags&recordService != 0 {
		principal, kind := "dynamodb.amazonaws.com", "Service"
		rec.UserIdentity = &streamtypes.Identity{PrincipalId: &principal, Type: &kind}
	}
	return rec, nil
}

// imageKeys fills in the record's keys from an image and returns their size in bytes.
func (st *stream) imageKeys(body *streamtypes.StreamRecord) int {
	if body.Keys == nil {
		image := body.NewImage
		if image == nil {
			image = body.OldImage
		}
		body.Keys = make(map[string]streamtypes.AttributeValue, 2)
		body.Keys[st.hash] = image[st.hash]
		if st.rng != "" {
			body.Keys[st.rng] = image[st.rng]
		}
	}
	size := 0
	for name, v := range body.Keys {
		size += len(name) + streamKeySize(v)
	}
	return size
}

func streamKeySize(v streamtypes.AttributeValue) int {
	switch v := v.(type) {
	case *streamtypes.AttributeValueMemberS:
		return len(v.Value)
	case *streamtypes.AttributeValueMemberB:
		return len(v.Value)
	case *streamtypes.AttributeValueMemberN:
		return item.SizeOf(&types.AttributeValueMemberN{Value: v.Value})
	}
	return 0
}

func eventName(flags byte) streamtypes.OperationType {
	switch {
	case flags&recordInsert != 0:
		return streamtypes.OperationTypeInsert
	case flags&recordRemove != 0:
		return streamtypes.OperationTypeRemove
	}
	return streamtypes.OperationTypeModify
}

const hexDigits = "0123456789abcdef"

// eventID is unique to a record: the stream's id and the sequence number, in hexadecimal.
func eventID(stream uint32, seq uint64) string {
	var b [32]byte
	for i := 15; i >= 0; i-- {
		b[i], stream = hexDigits[stream&15], stream>>4
		b[16+i], seq = hexDigits[seq&15], seq>>4
	}
	return string(b[:])
}
