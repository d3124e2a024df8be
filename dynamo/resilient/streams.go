package resilient

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"github.com/onefold/onefold/dynamo"
)

// Streams are resilient Streams around others. Use WrapStreams to make them.
type Streams struct {
	*sender
	inner dynamo.Streams
}

var _ dynamo.Streams = (*Streams)(nil)

// WrapStreams is Wrap for streams. They have a separate endpoint, and therefore a separate budget
// and breaker.
func WrapStreams(inner dynamo.Streams, o Options) *Streams {
	return &Streams{sender: newSender("streams", o), inner: inner}
}

func (s *Streams) read(op string, bytes int64) request {
	return request{op: op, takes: s.o.Several, bytes: bytes}
}

// ListStreams implements dynamo.Streams.
func (s *Streams) ListStreams(ctx context.Context, in *dynamodbstreams.ListStreamsInput, o ...func(*dynamodbstreams.Options)) (*dynamodbstreams.ListStreamsOutput, error) {
	return do(ctx, s.sender, s.read("ListStreams", oneItem), func(ctx context.Context) (*dynamodbstreams.ListStreamsOutput, error) {
		return s.inner.ListStreams(ctx, in, o...)
	})
}

// DescribeStream implements dynamo.Streams.
func (s *Streams) DescribeStream(ctx context.Context, in *dynamodbstreams.DescribeStreamInput, o ...func(*dynamodbstreams.Options)) (*dynamodbstreams.DescribeStreamOutput, error) {
	return do(ctx, s.sender, s.read("DescribeStream", oneItem), func(ctx context.Context) (*dynamodbstreams.DescribeStreamOutput, error) {
		return s.inner.DescribeStream(ctx, in, o...)
	})
}

// GetShardIterator implements dynamo.Streams.
func (s *Streams) GetShardIterator(ctx context.Context, in *dynamodbstreams.GetShardIteratorInput, o ...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetShardIteratorOutput, error) {
	return do(ctx, s.sender, s.read("GetShardIterator", oneItem), func(ctx context.Context) (*dynamodbstreams.GetShardIteratorOutput, error) {
		return s.inner.GetShardIterator(ctx, in, o...)
	})
}

// GetRecords implements dynamo.Streams.
func (s *Streams) GetRecords(ctx context.Context, in *dynamodbstreams.GetRecordsInput, o ...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetRecordsOutput, error) {
	return do(ctx, s.sender, s.read("GetRecords", onePage), func(ctx context.Context) (*dynamodbstreams.GetRecordsOutput, error) {
		return s.inner.GetRecords(ctx, in, o...)
	})
}
