// Package streamsource reads the changes for folds through the DynamoDB Streams API, from DynamoDB
// or the embedded engine.
package streamsource

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/fold/internal/record"
	"github.com/onefold/onefold/internal/backoff"
	"github.com/onefold/onefold/table"
)

// Source reads one stream. It keeps shard iterators, replaces expired ones, and respects the rate
// limits of the service (see streamLimits). It implements fold.Source and fold.Pacer.
type Source struct {
	api    dynamo.Streams
	arn    string
	limits streamLimits
	clock  func() time.Time // for rate limits
	sleep  func(context.Context, time.Duration) error

	// mu protects iterators and reads; it is not held during requests.
	mu        sync.Mutex
	iterators map[string]iterator    // by shard
	reads     map[string]readHistory // by shard
}

// New returns the source of a stream.
func New(api dynamo.Streams, streamARN string) *Source {
	_, exact := api.(dynamo.RecordReader)
	return &Source{
		api: api, arn: streamARN, limits: limitsFor(streamARN, exact), clock: time.Now, sleep: backoff.For,
		iterators: make(map[string]iterator), reads: make(map[string]readHistory),
	}
}

// OfTable returns the source of a table's current stream. Errors: those of DescribeTable, and
// ErrNoStream.
func OfTable(ctx context.Context, api dynamo.API, streams dynamo.Streams, table string) (*Source, error) {
	out, err := api.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &table})
	if err != nil {
		return nil, fmt.Errorf("streamsource: stream of %s: %w", table, err)
	}
	if out.Table.LatestStreamArn == nil {
		return nil, fmt.Errorf("%w: %s", ErrNoStream, table)
	}
	return New(streams, *out.Table.LatestStreamArn), nil
}

// ErrNoStream is returned for a table without a change stream.
var ErrNoStream = errors.New("streamsource: the table has no change stream")

// iterator is a position in a shard, after the record with sequence number after.
type iterator struct {
	token string
	after fold.Sequence
}

// maxRecords is the maximum number of records that GetRecords returns.
// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_streams_GetRecords.html
const maxRecords = 1000

// Shards lists the stream's shards.
func (s *Source) Shards(ctx context.Context) ([]fold.Shard, error) {
	var shards []fold.Shard
	in := &dynamodbstreams.DescribeStreamInput{StreamArn: &s.arn}
	for page := 0; ; page++ {
		if page > 0 {
			if err := s.sleep(ctx, s.limits.describeEvery); err != nil {
				return nil, err
			}
		}
		out, err := s.api.DescribeStream(ctx, in)
		if err != nil {
			return nil, fmt.Errorf("streamsource: describe stream: %w", err)
		}
		for _, sh := range out.StreamDescription.Shards {
			closed := sh.SequenceNumberRange != nil && sh.SequenceNumberRange.EndingSequenceNumber != nil
			shards = append(shards, fold.Shard{ID: aws.ToString(sh.ShardId), Parent: aws.ToString(sh.ParentShardId), Closed: closed})
		}
		last := out.StreamDescription.LastEvaluatedShardId
		if last == nil {
			return shards, nil
		}
		in = &dynamodbstreams.DescribeStreamInput{StreamArn: &s.arn, ExclusiveStartShardId: last}
	}
}

// Read returns the next records of a shard. It gets a new iterator up to twice if the current one
// has expired.
func (s *Source) Read(ctx context.Context, r fold.ReadRequest) (fold.Batch, error) {
	if err := s.await(ctx, r.Shard); err != nil {
		return fold.Batch{}, err
	}
	token, missed, err := s.iteratorFor(ctx, r, false)
	for attempt := 0; ; attempt++ {
		if err != nil {
			return fold.Batch{}, err
		}
		limit := int32(min(max(r.Max, 1), maxRecords))
		var b fold.Batch
		b, err = s.get(ctx, r, &dynamodbstreams.GetRecordsInput{ShardIterator: &token, Limit: &limit})
		if err == nil {
			b.Trimmed = missed
			return b, nil
		}
		s.drop(r.Shard)
		if attempt >= 2 || !stale(err) {
			return fold.Batch{}, fmt.Errorf("streamsource: get records of shard %s: %w", r.Shard, err)
		}
		again, trimmed := false, isTrimmed(err)
		token, again, err = s.iteratorFor(ctx, r, trimmed)
		missed = missed || again || trimmed && r.After != ""
	}
}

// stale reports whether an error of GetRecords can be resolved with a new iterator.
func stale(err error) bool {
	var expired *streamtypes.ExpiredIteratorException
	return errors.As(err, &expired) || isTrimmed(err)
}

func isTrimmed(err error) bool {
	var trimmed *streamtypes.TrimmedDataAccessException
	return errors.As(err, &trimmed)
}

// iteratorFor returns an iterator for a request: the current one if it has the right position,
// otherwise a new one. missed reports that changes after r.After are no longer kept, so the
// iterator starts at the oldest record that is.
func (s *Source) iteratorFor(ctx context.Context, r fold.ReadRequest, oldest bool) (token string, missed bool, err error) {
	if it, ok := s.at(r.Shard); ok && it.after == r.After && !oldest {
		return it.token, false, nil
	}
	in := &dynamodbstreams.GetShardIteratorInput{
		StreamArn: &s.arn, ShardId: &r.Shard, ShardIteratorType: streamtypes.ShardIteratorTypeTrimHorizon,
	}
	if r.After != "" && !oldest {
		after := string(r.After)
		in.ShardIteratorType, in.SequenceNumber = streamtypes.ShardIteratorTypeAfterSequenceNumber, &after
	}
	out, err := s.api.GetShardIterator(ctx, in)
	if isTrimmed(err) && in.SequenceNumber != nil {
		token, _, err = s.iteratorFor(ctx, r, true)
		return token, true, err
	}
	if err != nil {
		return "", false, fmt.Errorf("streamsource: iterator of shard %s: %w", r.Shard, err)
	}
	return aws.ToString(out.ShardIterator), false, nil
}

func (s *Source) at(shard string) (iterator, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	it, ok := s.iterators[shard]
	return it, ok
}

func (s *Source) drop(shard string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.iterators, shard)
}

// get reads records, with ReadRecords if the API has it, and keeps the next iterator.
func (s *Source) get(ctx context.Context, r fold.ReadRequest, in *dynamodbstreams.GetRecordsInput) (fold.Batch, error) {
	var b fold.Batch
	var next *string
	if reader, ok := s.api.(dynamo.RecordReader); ok && r.Want != nil {
		page, err := reader.ReadRecords(ctx, in, table.AttrEntity, r.Want)
		if err != nil {
			return fold.Batch{}, err
		}
		b, next = pageBatch(r, page), page.Next
	} else {
		out, err := s.api.GetRecords(ctx, in)
		if err != nil {
			return fold.Batch{}, err
		}
		b, next = recordsBatch(r, out.Records), out.NextShardIterator
	}
	b.End = next == nil
	s.mu.Lock()
	defer s.mu.Unlock()
	b.Tip, b.Since = s.atTip(r, &b)
	if b.End {
		delete(s.iterators, r.Shard)
		delete(s.reads, r.Shard)
	} else {
		s.iterators[r.Shard] = iterator{token: *next, after: b.Last}
	}
	return b, nil
}

// recordsBatch converts the result of GetRecords.
func recordsBatch(r fold.ReadRequest, records []streamtypes.Record) fold.Batch {
	b := fold.Batch{Read: len(records), Last: r.After}
	for i := range records {
		rec := &records[i]
		if rec.Dynamodb == nil {
			continue
		}
		b.Last = fold.Sequence(aws.ToString(rec.Dynamodb.SequenceNumber))
		if at := rec.Dynamodb.ApproximateCreationDateTime; at != nil {
			b.At = *at
		}
		if r.Want == nil || r.Want(record.Entity(rec.Dynamodb.NewImage)) || r.Want(record.Entity(rec.Dynamodb.OldImage)) {
			b.Changes = append(b.Changes, change(r.Shard, rec))
		}
	}
	return b
}

// pageBatch converts the result of ReadRecords.
func pageBatch(r fold.ReadRequest, page *dynamo.RecordPage) fold.Batch {
	b := fold.Batch{Read: page.Read, Last: r.After, At: page.At}
	if page.Read > 0 {
		b.Last = fold.Sequence(page.Last)
	}
	b.Changes = make([]fold.Change, len(page.Records))
	for i := range page.Records {
		rec := &page.Records[i]
		b.Changes[i] = fold.Change{
			Shard: r.Shard, Seq: fold.Sequence(rec.Sequence), At: rec.At, Kind: kindOf(rec.Event),
			Expired: rec.Expired, Old: rec.Old, New: rec.New,
		}
	}
	return b
}

func kindOf(e streamtypes.OperationType) fold.Kind {
	switch e {
	case streamtypes.OperationTypeInsert:
		return fold.Insert
	case streamtypes.OperationTypeRemove:
		return fold.Remove
	}
	return fold.Modify
}

// change converts a record. A removal by the service itself (TTL) is not a retraction: see
// fold.Change.
func change(shard string, rec *streamtypes.Record) fold.Change {
	d := rec.Dynamodb
	c := fold.Change{Shard: shard, Seq: fold.Sequence(aws.ToString(d.SequenceNumber)), Old: record.Image(d.OldImage), New: record.Image(d.NewImage)}
	if d.ApproximateCreationDateTime != nil {
		c.At = *d.ApproximateCreationDateTime
	}
	c.Kind = kindOf(rec.EventName)
	c.Expired = c.Kind == fold.Remove && rec.UserIdentity != nil && aws.ToString(rec.UserIdentity.Type) == "Service" &&
		aws.ToString(rec.UserIdentity.PrincipalId) == "dynamodb.amazonaws.com"
	return c
}
