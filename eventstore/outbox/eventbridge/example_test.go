package eventbridge_test

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/eventbridge"

	"github.com/onefold/onefold/eventstore/outbox"
	"github.com/onefold/onefold/eventstore/outbox/eventbridge"
)

func toEventBridge(config aws.Config) outbox.Destination {
	return eventbridge.New(sdk.NewFromConfig(config), eventbridge.Options{Bus: "shop", Source: "shop.orders"})
}

var _ = toEventBridge
