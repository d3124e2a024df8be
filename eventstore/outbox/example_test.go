package outbox_test

import (
	"context"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/outbox"
	"github.com/onefold/onefold/eventstore/subscription"
)

// docs/guides/outbox.md shows the functions of the files example_test.go of this package and those
// below it.

func publishToPartner(ctx context.Context, store *eventstore.Store, secret string) error {
	partner, err := outbox.NewWebhook(outbox.WebhookOptions{URL: "https://partner.example.com/events", Secrets: []string{secret}})
	if err != nil {
		return err
	}
	defer partner.Close()
	publish := outbox.To(partner, outbox.Options{Source: "https://shop.example.com/orders", TypePrefix: "com.example.shop."})
	s, err := subscription.New(store, subscription.Definition{
		Name: "partner", Partitions: 4, Only: []eventstore.FeedOption{eventstore.OfAggregateType("order")}, Handle: publish,
	}, subscription.Options{Attempts: -1})
	if err != nil {
		return err
	}
	return s.Run(ctx) // until ctx ends
}

var _ = publishToPartner
