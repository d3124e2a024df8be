package fold

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/onefold/onefold/dynamo"
)

// Streams reads a stream over the DynamoDB Streams API: of DynamoDB or of the embedded engine. It keeps the iterators
// and gets new ones when they expire.
func Streams(api dynamo.Streams, streamARN string) Source {
	return &streams{api: api, arn: streamARN, iterators: make(map[string]iterator)}
}

type streams struct {
	api dynamo.Streams
	arn string

	mu        sync.Mutex
	iterators map[string]iterator // by shard
}

// iterator is a place in a shard: behind the record after.
type iterator struct {
	token string
	after Sequence
}

// maxRecords is the most that GetRecords returns.
// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_streams_GetRecords.html
const maxRecords = 1000

// Shards lists the stream's shards, page by page.
func (s *streams) Shards(ctx context.Context) ([]Shard, error) {
	var shards []Shard
	in := &dynamodbstreams.DescribeStreamInput{StreamArn: &s.arn}
	for {
		out, err := s.api.DescribeStream(ctx, in)
		if err != nil {
			return nil, fmt.Errorf("fold: describe stream: %w", err)
		}
		for _, sh := range out.StreamDescription.Shards {
			closed := sh.SequenceNumberRange != nil && sh.SequenceNumberRange.EndingSequenceNumber != nil
			shards = append(shards, Shard{ID: text(sh.ShardId), Parent: text(sh.ParentShardId), Closed: closed})
		}
		last := out.StreamDescription.LastEvaluatedShardId
		if last == nil {
			return shards, nil
		}
		in = &dynamodbstreams.DescribeStreamInput{StreamArn: &s.arn, ExclusiveStartShardId: last}
	}
}

// Read returns the next records of a shard.
func (s *streams) Read(ctx context.Context, r ReadRequest) (Batch, error) {
	token, missed, err := s.iteratorFor(ctx, r, false)
	for attempt := 0; ; attempt++ {
		if err != nil {
			return Batch{}, err
		}
		limit := int32(min(max(r.Max, 1), maxRecords))
		var out *dynamodbstreams.GetRecordsOutput
		out, err = s.api.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: &token, Limit: &limit})
		if err == nil {
			return s.batch(r, out, missed), nil
		}
		s.drop(r.Shard)
		if attempt >= 2 || !stale(err) {
			return Batch{}, fmt.Errorf("fold: get records of shard %s: %w", r.Shard, err)
		}
		again, trimmed := false, isTrimmed(err)
		token, again, err = s.iteratorFor(ctx, r, trimmed)
		missed = missed || again || trimmed && r.After != ""
	}
}

// stale reports whether an error of GetRecords goes away with a new iterator.
func stale(err error) bool {
	var expired *streamtypes.ExpiredIteratorException
	return errors.As(err, &expired) || isTrimmed(err)
}

func isTrimmed(err error) bool {
	var trimmed *streamtypes.TrimmedDataAccessException
	return errors.As(err, &trimmed)
}

// iteratorFor returns an iterator for a request: the one at hand if it is where the request goes on, and else a new one.
// missed says that what is behind r.After is not kept any more, so that the iterator is at the oldest record that is.
func (s *streams) iteratorFor(ctx context.Context, r ReadRequest, oldest bool) (token string, missed bool, err error) {
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
		return "", false, fmt.Errorf("fold: iterator of shard %s: %w", r.Shard, err)
	}
	return text(out.ShardIterator), false, nil
}

func (s *streams) at(shard string) (iterator, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	it, ok := s.iterators[shard]
	return it, ok
}

func (s *streams) drop(shard string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.iterators, shard)
}

// batch converts what GetRecords returned and keeps the next iterator.
func (s *streams) batch(r ReadRequest, out *dynamodbstreams.GetRecordsOutput, missed bool) Batch {
	b := Batch{
		Read: len(out.Records), Last: r.After, Missed: missed,
		Tip: len(out.Records) == 0, End: out.NextShardIterator == nil,
	}
	for i := range out.Records {
		rec := &out.Records[i]
		if rec.Dynamodb == nil {
			continue
		}
		b.Last = Sequence(text(rec.Dynamodb.SequenceNumber))
		if at := rec.Dynamodb.ApproximateCreationDateTime; at != nil {
			b.At = *at
		}
		if r.Want == nil || r.Want(entityOfImage(rec.Dynamodb.NewImage)) || r.Want(entityOfImage(rec.Dynamodb.OldImage)) {
			b.Changes = append(b.Changes, change(r.Shard, rec))
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if b.End {
		delete(s.iterators, r.Shard)
	} else {
		s.iterators[r.Shard] = iterator{token: *out.NextShardIterator, after: b.Last}
	}
	return b
}

// change converts a record. See Change for what a service's removal is.
func change(shard string, rec *streamtypes.Record) Change {
	d := rec.Dynamodb
	c := Change{Shard: shard, Seq: Sequence(text(d.SequenceNumber)), Old: image(d.OldImage), New: image(d.NewImage)}
	if d.ApproximateCreationDateTime != nil {
		c.At = *d.ApproximateCreationDateTime
	}
	switch rec.EventName {
	case streamtypes.OperationTypeInsert:
		c.Kind = Insert
	case streamtypes.OperationTypeModify:
		c.Kind = Modify
	case streamtypes.OperationTypeRemove:
		c.Kind = Remove
		c.Expired = rec.UserIdentity != nil && text(rec.UserIdentity.Type) == "Service" &&
			text(rec.UserIdentity.PrincipalId) == "dynamodb.amazonaws.com"
	}
	return c
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
