package outbox

import (
	"context"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/subscription"
)

// A Destination accepts events.
type Destination interface {
	// Send sends events in order. It returns how many were accepted, from the first one on; the
	// error, if any, is that of the next one. An event is sent only after the earlier events of its
	// aggregate were accepted. An error of subscription.Permanent says that another attempt would
	// fail, too. Partitions of a subscription call it at the same time.
	Send(ctx context.Context, events []Event) (accepted int, err error)
}

// Options configures what is published of an event. The zero value publishes no data about people
// except those in IDs and payloads.
type Options struct {
	Source      string   // CloudEvents source, a URI such as https://shop.example.com/orders; default onefold
	TypePrefix  string   // put before the type of each event, such as com.example.; default none
	ContentType string   // media type of payloads that are not JSON; default application/octet-stream
	Tenant      bool     // publish the tenant
	Actor       bool     // publish the actor
	Metadata    []string // keys of metadata to publish, see Event; default none
}

// To returns the handler of a subscription that publishes its events. The rules of the mapping are
// those of Event.
func To(d Destination, o Options) subscription.Handler {
	m := newMapping(o)
	return func(ctx context.Context, events []eventstore.FeedEvent) (int, error) {
		mapped := make([]Event, len(events))
		for i := range events {
			mapped[i] = m.event(&events[i])
		}
		return d.Send(ctx, mapped)
	}
}
