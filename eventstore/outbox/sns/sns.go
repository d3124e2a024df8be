// Package sns publishes events to a topic of Amazon SNS.
//
// It uses the types of the AWS SDK, so that a client is a Destination without code that translates
// requests and pairs results with events. Only programs that import this package need the SDK's
// module: Go neither downloads nor lists it for others.
package sns

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sns/types"

	"github.com/onefold/onefold/eventstore/outbox"
	"github.com/onefold/onefold/eventstore/outbox/internal/requests"
)

// API is what is used of a client of the AWS SDK.
type API interface {
	PublishBatch(context.Context, *sns.PublishBatchInput, ...func(*sns.Options)) (*sns.PublishBatchOutput, error)
}

// Options configures a destination. The zero value has good defaults.
type Options struct {
	// MaxBytes is the maximum size of a request and of a message, with attributes. Default 256 KiB,
	// which is also the topic's default; set it to the topic's MaximumMessageSize.
	MaxBytes int
}

const defaultMaxBytes = 256 << 10

// New returns a destination that publishes events to a topic, up to 10 per request, in CloudEvents'
// JSON format. The message attributes source, type and subject are for filter policies.
//
// On a FIFO topic, whose name ends in .fifo, the message group is the aggregate and the
// deduplication ID is the event's ID: subscribers get an aggregate's events in order, and an event
// that is published again within five minutes only once. On a standard topic, SNS may deliver them
// in another order, and more than once: compare sequence.
//
// An event that is too large or invalid is a permanent error. Missing permissions and a missing
// topic are not: they affect all events, and go away once they are corrected.
func New(api API, topicARN string, o Options) outbox.Destination {
	if o.MaxBytes <= 0 {
		o.MaxBytes = defaultMaxBytes
	}
	t := &topic{api, topicARN, strings.HasSuffix(topicARN, ".fifo"), o.MaxBytes}
	return outbox.Concurrent(requests.MaxEntries, t.send)
}

type topic struct {
	api      API
	arn      string
	fifo     bool
	maxBytes int
}

// invalid are the codes of https://docs.aws.amazon.com/sns/latest/api/CommonErrors.html and
// https://docs.aws.amazon.com/sns/latest/api/API_PublishBatch.html that are about a message or an
// invalid request.
var invalid = []string{"InvalidParameter", "InvalidParameterValue", "ParameterValueInvalid", "ValidationError"}

func (t *topic) send(ctx context.Context, events []*outbox.Event) []error {
	all := make([]requests.Entry[types.PublishBatchRequestEntry], len(events))
	for i, e := range events {
		all[i].Value = t.entry(e)
		all[i].Size = size(&all[i].Value)
	}
	errs := requests.Send(ctx, all, requests.Limits{Bytes: t.maxBytes, Invalid: invalid}, t.put)
	for i, err := range errs {
		if err != nil {
			errs[i] = fmt.Errorf("outbox: SNS: %w", err)
		}
	}
	return errs
}

func (t *topic) entry(e *outbox.Event) types.PublishBatchRequestEntry {
	m := types.PublishBatchRequestEntry{Message: aws.String(string(e.JSON())), MessageAttributes: map[string]types.MessageAttributeValue{}}
	for name, value := range map[string]string{"source": e.Source, "type": e.Type, "subject": e.Subject} {
		m.MessageAttributes[name] = types.MessageAttributeValue{DataType: aws.String("String"), StringValue: aws.String(value)}
	}
	if t.fifo {
		m.MessageGroupId, m.MessageDeduplicationId = aws.String(group(e)), aws.String(e.ID)
	}
	return m
}

// size returns the size of a message: body, and names, types and values of attributes.
func size(m *types.PublishBatchRequestEntry) int {
	n := len(*m.Message)
	for name, a := range m.MessageAttributes {
		n += len(name) + len(*a.DataType) + len(*a.StringValue)
	}
	return n
}

const maxGroup = 128

// group returns the message group of an event: the aggregate's type, a slash and its ID. If SNS does
// not allow that name, it is a hash, which has no slash.
func group(e *outbox.Event) string {
	name := e.Aggregate.String()
	strange := strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' })
	if len(name) <= maxGroup && !strange {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:])
}

func (t *topic) put(ctx context.Context, entries []types.PublishBatchRequestEntry) ([]error, error) {
	for i := range entries {
		entries[i].Id = aws.String(strconv.Itoa(i))
	}
	out, err := t.api.PublishBatch(ctx, &sns.PublishBatchInput{TopicArn: aws.String(t.arn), PublishBatchRequestEntries: entries})
	if err != nil {
		return nil, err
	}
	if out == nil {
		return nil, errors.New("no response")
	}
	return results(out, len(entries)), nil
}

// results returns the error of each message. Results are in no order.
func results(out *sns.PublishBatchOutput, n int) []error {
	errs := make([]error, n)
	for i := range errs {
		errs[i] = errors.New("the response has no result for the message")
	}
	for _, r := range out.Successful {
		if i, err := strconv.Atoi(aws.ToString(r.Id)); err == nil && i >= 0 && i < n {
			errs[i] = nil
		}
	}
	for _, r := range out.Failed {
		if i, err := strconv.Atoi(aws.ToString(r.Id)); err == nil && i >= 0 && i < n {
			errs[i] = &requests.Failure{Code: aws.ToString(r.Code), Message: aws.ToString(r.Message)}
		}
	}
	return errs
}
