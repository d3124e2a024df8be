package sns_test

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/sns"

	"github.com/onefold/onefold/eventstore/outbox"
	"github.com/onefold/onefold/eventstore/outbox/sns"
)

func toSNS(config aws.Config, topicARN string) outbox.Destination {
	return sns.New(sdk.NewFromConfig(config), topicARN, sns.Options{})
}

var _ = toSNS
