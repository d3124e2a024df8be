package kafka_test

import (
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/onefold/onefold/eventstore/outbox"
	"github.com/onefold/onefold/eventstore/outbox/kafka"
)

func toKafka(brokers ...string) (outbox.Destination, error) {
	client, err := kgo.NewClient(kgo.SeedBrokers(brokers...))
	if err != nil {
		return nil, err
	}
	return kafka.New(client, "orders", kafka.Options{})
}

var _ = toKafka
