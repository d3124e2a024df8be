// Package nats publishes events to a stream of NATS JetStream. It is a package of its own so that
// only programs that use it link the client of NATS.
package nats

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	client "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/onefold/onefold/eventstore/outbox"
	"github.com/onefold/onefold/eventstore/subscription"
)

// Options configures a destination. The zero value has good defaults.
type Options struct {
	Stream  string                     // refuse to publish to another stream; default: the one that has the subject
	Subject func(*outbox.Event) string // subject of an event; default DefaultSubject
	Binary  bool                       // binary mode: attributes as headers, the payload as the body; default structured mode
	AtOnce  int                        // events in flight, each of another aggregate; default 64
	Timeout time.Duration              // for the acknowledgement of an event; default 5 s
}

const (
	atOnce  = 64
	timeout = 5 * time.Second
)

// DefaultSubject returns events.TYPE, with the type of the aggregate. Characters other than ASCII
// letters, digits, _ and - are replaced by _.
func DefaultSubject(e *outbox.Event) string { return "events." + token(e.Aggregate.Type) }

// token returns a token of a subject.
func token(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' {
			return r
		}
		return '_'
	}, s)
}

// New returns a destination that publishes to JetStream and waits for the acknowledgement of the
// stream. The header Nats-Msg-Id is the event's ID: the stream drops repetitions within its duplicate
// window, which is two minutes by default. Events that are too large for the server or the stream
// are refused for good; all other errors are retried. The caller closes the connection.
func New(js jetstream.JetStream, o Options) outbox.Destination {
	if o.Subject == nil {
		o.Subject = DefaultSubject
	}
	if o.AtOnce <= 0 {
		o.AtOnce = atOnce
	}
	if o.Timeout <= 0 {
		o.Timeout = timeout
	}
	d := &destination{js, o}
	return outbox.Concurrent(o.AtOnce, d.send)
}

type destination struct {
	js jetstream.JetStream
	o  Options
}

// send publishes events at the same time.
func (d *destination) send(ctx context.Context, events []*outbox.Event) []error {
	ctx, cancel := context.WithTimeout(ctx, d.o.Timeout)
	defer cancel()
	errs := make([]error, len(events))
	var all sync.WaitGroup
	for i, e := range events {
		all.Go(func() { errs[i] = d.publish(ctx, e) })
	}
	all.Wait()
	return errs
}

func (d *destination) publish(ctx context.Context, e *outbox.Event) error {
	options := []jetstream.PublishOpt{jetstream.WithMsgID(e.ID)}
	if d.o.Stream != "" {
		options = append(options, jetstream.WithExpectStream(d.o.Stream))
	}
	_, err := d.js.PublishMsg(ctx, d.message(e), options...)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, client.ErrMaxPayload), errors.Is(err, jetstream.ErrStreamMessageExceedsMaximum):
		err = subscription.Permanent(err)
	}
	return fmt.Errorf("outbox: nats: %w", err)
}

// message returns a message as CloudEvents' NATS binding says.
func (d *destination) message(e *outbox.Event) *client.Msg {
	m := client.NewMsg(d.o.Subject(e))
	if !d.o.Binary {
		m.Header.Set("content-type", outbox.StructuredType)
		m.Data = e.JSON()
		return m
	}
	for name, value := range e.Attributes() {
		m.Header.Set("ce-"+name, outbox.HeaderValue(value))
	}
	if e.ContentType != "" {
		m.Header.Set("content-type", e.ContentType)
	}
	m.Data = e.Data
	return m
}
