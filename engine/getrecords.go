package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/cockroachdb/pebble/v2"

	"github.com/onefold/onefold/engine/internal/catalog"
	"github.com/onefold/onefold/engine/internal/damage"
	"github.com/onefold/onefold/engine/internal/request"
	"github.com/onefold/onefold/engine/internal/row"
)

// maxRecordBytes is DynamoDB's size limit for GetRecords. The limit on the number is in
// request.CheckGetRecords.
const maxRecordBytes = 1 << 20

// GetRecords returns up to 1,000 records or 1 MB of a shard in the order of their sequence numbers,
// and the next iterator, which is nil at the end of a closed shard.
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

// readRecords passes the records requested by a GetRecords call to each, and returns the next
// iterator.
func (db *DB) readRecords(ctx context.Context, in *dynamodbstreams.GetRecordsInput, each func(st *stream, seq uint64, v []byte) error) (*string, error) {
	call, err := begin(ctx, db, &in)
	if err != nil {
		return nil, err
	}
	defer call.End()
	limit, err := request.CheckGetRecords(in)
	if err != nil {
		return nil, err
	}
	p, err := catalog.ParsePosition(*in.ShardIterator)
	if err != nil {
		return nil, err
	}
	now := db.now().UnixMilli()
	if now-p.Made > iteratorLife.Milliseconds() {
		msg := "Iterator expired. The iterator was created more than 15 minutes ago"
		return nil, &streamtypes.ExpiredIteratorException{Message: &msg}
	}
	st := (*db.streams.Load())[p.Stream]
	if st == nil {
		return nil, errNoStream("of this iterator")
	}
	// Read the descriptor before the records: a shard closed by now has all of its records in the
	// store.
	sh, found := st.desc.Load().Shard(p.Shard)
	if !found || p.Next < sh.First {
		return nil, errTrimmed()
	}
	more, err := db.readShard(st, &p, limit, each)
	if err != nil {
		return nil, fmt.Errorf("engine: get records: %w", err)
	}
	if sh.Closed && !more {
		return nil, nil
	}
	p.Made = now
	next := p.Encode()
	return &next, nil
}

// readShard passes records from a position on to each, advances the position, and reports whether
// more records remain.
func (db *DB) readShard(st *stream, p *catalog.Position, limit int, each func(st *stream, seq uint64, v []byte) error) (more bool, err error) {
	prefix := row.ShardPrefix(st.id, p.Shard)
	var from [row.RecordKeyLen]byte
	row.PutRecordKey(from[:], st.id, p.Shard, p.Next)
	it, err := db.store.NewIter(&pebble.IterOptions{LowerBound: from[:], UpperBound: row.UpperBound(prefix)})
	if err != nil {
		return false, err
	}
	defer func() { err = joinClose(err, it) }()
	size, n := 0, 0
	for ok := it.First(); ok; ok = it.Next() {
		if n == limit || size >= maxRecordBytes {
			return true, nil
		}
		v, err := damage.Value(it)
		if err != nil {
			return false, err
		}
		seq := row.RecordSequence(it.Key())
		if err := each(st, seq, v); err != nil {
			return false, err
		}
		size, n, p.Next = size+len(v), n+1, seq+1
	}
	return false, damage.Of(it.Error())
}

var (
	eventSource  = "aws:dynamodb"
	eventVersion = "1.1"
)

// recordTime returns the time of a record in the resolution of streams.
func recordTime(millis int64) time.Time { return time.UnixMilli(millis).UTC().Truncate(time.Second) }

// streamRecord decodes a record.
func (db *DB) streamRecord(st *stream, seq uint64, v []byte) (streamtypes.Record, error) {
	r, err := row.ParseRecord(v)
	if err != nil {
		return streamtypes.Record{}, err
	}
	text := catalog.SequenceText(seq)
	at := recordTime(r.Millis)
	body := &streamtypes.StreamRecord{ApproximateCreationDateTime: &at, SequenceNumber: &text, StreamViewType: streamtypes.StreamViewType(st.view)}
	for _, image := range []struct {
		row []byte
		dst *map[string]streamtypes.AttributeValue
	}{{r.Old, &body.OldImage}, {r.New, &body.NewImage}, {r.Keys, &body.Keys}} {
		if image.row == nil {
			continue
		}
		if *image.dst, err = row.DecodeImage(image.row); err != nil {
			return streamtypes.Record{}, err
		}
	}
	keys := row.FillKeys(body, st.hash, st.rng)
	size := int64(row.Size(r.Old) + row.Size(r.New) + keys)
	body.SizeBytes = &size
	id := row.EventID(st.id, seq)
	rec := streamtypes.Record{AwsRegion: &db.o.Region, Dynamodb: body, EventID: &id, EventName: r.EventName(), EventSource: &eventSource, EventVersion: &eventVersion}
	if r.Flags&row.Service != 0 {
		principal, kind := "dynamodb.amazonaws.com", "Service"
		rec.UserIdentity = &streamtypes.Identity{PrincipalId: &principal, Type: &kind}
	}
	return rec, nil
}
