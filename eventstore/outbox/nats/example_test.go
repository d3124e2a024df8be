package nats_test

import (
	client "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/onefold/onefold/eventstore/outbox"
	"github.com/onefold/onefold/eventstore/outbox/nats"
)

func toJetStream(url string) (outbox.Destination, error) {
	connection, err := client.Connect(url)
	if err != nil {
		return nil, err
	}
	js, err := jetstream.New(connection)
	if err != nil {
		return nil, err
	}
	return nats.New(js, nats.Options{Stream: "EVENTS"}), nil
}

var _ = toJetStream
