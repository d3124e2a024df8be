package events_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"testing"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/projection"
	"github.com/onefold/onefold/eventstore/subscription"
	"github.com/onefold/onefold/server"
	"github.com/onefold/onefold/server/servertest"
	"github.com/onefold/onefold/table"
)

// TestEventsInABrowser uses the pages of the event store like people, in Chromium: see
// e2e/events.mjs.
func TestEventsInABrowser(t *testing.T) {
	t.Parallel()
	servertest.NeedPage(t)
	h := servertest.New(t, func(o *server.Options) {
		for _, name := range []string{"totals", "shipments"} {
			countOrders(t, o, name)
		}
	})
	startMails(t, h)
	link, err := h.Accounts.SetupToken(t.Context())
	servertest.Must(t, err)
	ctx, stop := context.WithCancel(t.Context())
	folded := make(chan error, 1)
	go func() { folded <- h.Worker.Run(ctx) }()
	out, err := servertest.Script(t, "events.mjs", h.URL, link, os.Getenv("ONEFOLD_TEST_SHOTS")).CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Error(err)
	}
	stop()
	if err := <-folded; err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// startMails runs a subscription that cannot handle events of the type OrderLost.
func startMails(t *testing.T, h *servertest.Server) {
	store, err := eventstore.New(table.New(h.Table.API(), h.Table.Name(), table.Options{}), eventstore.Options{}) // with a clock that runs
	servertest.Must(t, err)
	mails, err := subscription.New(store, subscription.Definition{Name: "mails", Handle: subscription.Each(func(_ context.Context, e *eventstore.FeedEvent) error {
		if e.EventType == "OrderLost" {
			return subscription.Permanent(errors.New("mailbox unavailable"))
		}
		return nil
	})}, subscription.Options{Logger: slog.New(slog.DiscardHandler)})
	servertest.Must(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- mails.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// countOrders adds a projection of orders to a server. The one named shipments cannot apply events
// of the type OrderLost.
func countOrders(t *testing.T, o *server.Options, name string) {
	store, err := eventstore.New(o.Table, eventstore.Options{})
	servertest.Must(t, err)
	p, err := projection.Define(o.Table, store, projection.Definition[total]{
		Name: name, Version: 1, Of: []string{"order"}, Apply: func(n *total, e *eventstore.Event) error {
			if n.Events++; name == "shipments" && e.EventType == "OrderLost" {
				return errors.New("an order is lost before it is shipped")
			}
			return nil
		},
	}, projection.Options{Logger: slog.New(slog.DiscardHandler)})
	servertest.Must(t, err)
	o.Events.Projections = append(o.Events.Projections, p)
}
