// Package eventbridge publishes events to a bus of Amazon EventBridge.
//
// It uses the types of the AWS SDK, so that a client is a Destination without code that translates
// requests and pairs results with events. Only programs that import this package need the SDK's
// module: Go neither downloads nor lists it for others.
package eventbridge

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"

	"github.com/onefold/onefold/eventstore/outbox"
	"github.com/onefold/onefold/eventstore/outbox/internal/requests"
)

// API is what is used of a client of the AWS SDK.
type API interface {
	PutEvents(context.Context, *eventbridge.PutEventsInput, ...func(*eventbridge.Options)) (*eventbridge.PutEventsOutput, error)
}

// Options configures a destination. The zero value has good defaults.
type Options struct {
	Bus      string // name or ARN of the event bus; default: the account's default bus
	Source   string // source of the entries, which rules match; default: that of the event, see outbox.Options
	Endpoint string // ID of a global endpoint; default none
	// MaxBytes is the maximum size of a request, as AWS computes it. Default 256 KiB; EventBridge
	// accepts less than 1 MB since 2026, but not every target does.
	MaxBytes int
}

const defaultMaxBytes = 256 << 10

// New returns a destination that puts events on a bus, up to 10 per request. The detail type of an
// entry is the event's type; its detail is the event in CloudEvents' JSON format, so patterns match
// fields such as detail.subject and detail.data.
//
// The events of an aggregate are put one after the other, each after EventBridge has accepted the
// previous one. EventBridge may nevertheless deliver them to targets in another order, and more than
// once: compare detail.sequence.
//
// An event that is too large or invalid is a permanent error. Missing permissions and a missing bus
// are not: they affect all events, and go away once they are corrected.
func New(api API, o Options) outbox.Destination {
	if o.MaxBytes <= 0 {
		o.MaxBytes = defaultMaxBytes
	}
	b := &bus{api, o}
	return outbox.Concurrent(requests.MaxEntries, b.send)
}

type bus struct {
	api API
	o   Options
}

// invalid are the codes of
// https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_PutEventsResultEntry.html that
// are about the event, and that of invalid requests.
var invalid = []string{"InvalidArgument", "MalformedDetail", "ValidationException"}

func (b *bus) send(ctx context.Context, events []*outbox.Event) []error {
	all := make([]requests.Entry[types.PutEventsRequestEntry], len(events))
	for i, e := range events {
		all[i].Value = b.entry(e)
		all[i].Size = size(&all[i].Value)
	}
	errs := requests.Send(ctx, all, requests.Limits{Bytes: b.o.MaxBytes, Invalid: invalid}, b.put)
	for i, err := range errs {
		if err != nil {
			errs[i] = fmt.Errorf("outbox: EventBridge: %w", err)
		}
	}
	return errs
}

func (b *bus) entry(e *outbox.Event) types.PutEventsRequestEntry {
	entry := types.PutEventsRequestEntry{Source: aws.String(e.Source), DetailType: aws.String(e.Type), Detail: aws.String(string(e.JSON()))}
	if b.o.Source != "" {
		entry.Source = aws.String(b.o.Source)
	}
	if b.o.Bus != "" {
		entry.EventBusName = aws.String(b.o.Bus)
	}
	if at, err := time.Parse(time.RFC3339Nano, e.Time); err == nil {
		entry.Time = &at
	}
	return entry
}

// size computes the size of an entry as
// https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-putevents.html#eb-putevent-size says.
func size(e *types.PutEventsRequestEntry) int {
	n := len(*e.Source) + len(*e.DetailType) + len(*e.Detail)
	if e.Time != nil {
		n += 14
	}
	return n
}

func (b *bus) put(ctx context.Context, entries []types.PutEventsRequestEntry) ([]error, error) {
	in := &eventbridge.PutEventsInput{Entries: entries}
	if b.o.Endpoint != "" {
		in.EndpointId = aws.String(b.o.Endpoint)
	}
	out, err := b.api.PutEvents(ctx, in)
	if err != nil {
		return nil, err
	}
	if out == nil {
		return nil, errors.New("no response")
	}
	errs := make([]error, len(out.Entries)) // in the order of the request
	for i, r := range out.Entries {
		switch {
		case r.ErrorCode != nil:
			errs[i] = &requests.Failure{Code: *r.ErrorCode, Message: aws.ToString(r.ErrorMessage)}
		case aws.ToString(r.EventId) == "":
			errs[i] = errors.New("the event has no ID in the response")
		}
	}
	return errs, nil
}
