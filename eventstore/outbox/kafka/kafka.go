// Package kafka publishes events to a topic of Apache Kafka. It is a package of its own so that only
// programs that use it link a client of Kafka.
package kafka

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/onefold/onefold/eventstore/outbox"
	"github.com/onefold/onefold/eventstore/subscription"
)

// ErrClient is returned for a client whose settings can lose or reorder events.
var ErrClient = errors.New("outbox: kafka: unsafe settings of the client")

// Options configures a destination. The zero value has good defaults.
type Options struct {
	Binary  bool          // binary mode: attributes as headers, the payload as the value; default structured mode
	AtOnce  int           // events in flight, each of another aggregate; default 256
	Timeout time.Duration // for the acknowledgement of events; default 30 s
}

const (
	defaultAtOnce  = 256
	defaultTimeout = 30 * time.Second
)

// New returns a destination that produces to a topic and waits until all in-sync replicas have the
// events. The key of a record is the aggregate, its type, a slash and its ID, so that the client's
// default partitioner puts an aggregate's events into one partition. If the topic gets more
// partitions, later events of an aggregate may be in another one than the earlier ones.
//
// The client's idempotent producer stores a record once however often the client sends it. An event
// that is published again, such as after a crash, is stored again: consumers recognize it by its ID.
// Events that are too large for the client or the topic are a permanent error; all others are
// retried.
//
// In binary mode, an event without a payload is a record without a value, which a compacted topic
// takes as a deletion.
//
// The caller closes the client. Errors: ErrClient for an empty topic, and for a client that does not
// wait for all in-sync replicas or whose producer is not idempotent.
func New(client *kgo.Client, topic string, o Options) (outbox.Destination, error) {
	switch {
	case topic == "":
		return nil, fmt.Errorf("%w: name a topic", ErrClient)
	case client.OptValue(kgo.RequiredAcks) != kgo.AllISRAcks():
		return nil, fmt.Errorf("%w: use RequiredAcks(AllISRAcks()), the default", ErrClient)
	case client.OptValue(kgo.DisableIdempotentWrite) != false, client.OptValue(kgo.AllowIdempotentProduceCancellation) != false:
		return nil, fmt.Errorf("%w: use neither DisableIdempotentWrite nor AllowIdempotentProduceCancellation", ErrClient)
	}
	if o.AtOnce <= 0 {
		o.AtOnce = defaultAtOnce
	}
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
	d := &destination{client, topic, o}
	return outbox.Concurrent(o.AtOnce, d.send), nil
}

type destination struct {
	client *kgo.Client
	topic  string
	o      Options
}

// outcome is the result of the nth event of a call.
type outcome struct {
	n   int
	err error
}

// send produces events at the same time. After the timeout, the client may still send an event that
// it has tried before, so it can be stored twice. A later event of the aggregate cannot overtake it,
// because the client sends the records of a partition in order.
func (d *destination) send(ctx context.Context, events []*outbox.Event) []error {
	ctx, cancel := context.WithTimeout(ctx, d.o.Timeout)
	defer cancel()
	outcomes := make(chan outcome, len(events))
	for n, e := range events {
		d.client.Produce(ctx, d.record(e), func(_ *kgo.Record, err error) { outcomes <- outcome{n, err} })
	}
	errs := slices.Repeat([]error{context.DeadlineExceeded}, len(events))
	for range events {
		select {
		case o := <-outcomes:
			errs[o.n] = o.err
		case <-ctx.Done():
			return describe(errs)
		}
	}
	return describe(errs)
}

// describe adds what failed to errors, and marks those that are permanent.
func describe(errs []error) []error {
	for n, err := range errs {
		if errors.Is(err, kerr.MessageTooLarge) || errors.Is(err, kerr.RecordListTooLarge) || errors.Is(err, kerr.InvalidRecord) {
			err = subscription.Permanent(err)
		}
		if err != nil {
			errs[n] = fmt.Errorf("outbox: kafka: %w", err)
		}
	}
	return errs
}

// record returns a record as CloudEvents' Kafka binding says.
func (d *destination) record(e *outbox.Event) *kgo.Record {
	r := &kgo.Record{Topic: d.topic, Key: []byte(e.Aggregate.String())}
	if !d.o.Binary {
		r.Headers = []kgo.RecordHeader{{Key: "content-type", Value: []byte(outbox.StructuredType)}}
		r.Value = e.JSON()
		return r
	}
	for name, value := range e.Attributes() {
		r.Headers = append(r.Headers, kgo.RecordHeader{Key: "ce_" + name, Value: []byte(value)})
	}
	if e.ContentType != "" {
		r.Headers = append(r.Headers, kgo.RecordHeader{Key: "content-type", Value: []byte(e.ContentType)})
		r.Value = e.Data
	}
	return r
}
