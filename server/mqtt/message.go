// Package mqtt ingests messages over MQTT 3.1.1 and 5, and acknowledges them only when their
// consumer reports that they are durable. A message with QoS 2 is consumed once, unless both
// connection and session are lost. It is not a general broker: clients receive only replies to
// their own messages, and there are no retained messages.
//
// The package knows nothing about the content of messages, and its API does not expose the MQTT
// library, which only this package imports. The server provides a Login whose Takers ingest the
// readings of devices.
package mqtt

import "context"

// Login has the credentials of a client.
type Login struct {
	Username string
	Password string
	ClientID string // chosen by the client; it proves nothing
	Address  string // of the connection, with the port
}

// Message is a message that a client publishes.
type Message struct {
	Topic   string
	Payload []byte
	QoS     byte // 0 to 2
	Dup     bool // the client reports that it may have sent the message before

	// Reply is set by a Taker to tell the client about a message that it decided on. The client
	// receives it with QoS 0 if it has subscribed to its topic.
	Reply Reply
}

// Reply is a message to the sender of another.
type Reply struct {
	Topic   string // "": no reply
	Payload []byte
}

// Verdict is the outcome of a message.
type Verdict byte

// The verdicts.
const (
	// Failed messages are not durable, through no fault of theirs. They are not acknowledged, and
	// the client is disconnected, so that it sends them again. Failed is the zero value, so that
	// nothing is acknowledged by mistake.
	Failed Verdict = iota
	// Taken messages are durable, and are acknowledged.
	Taken
	// Malformed messages can never be accepted. They are acknowledged, in MQTT 5 with the reason
	// "payload format invalid", because otherwise they would be sent again forever.
	Malformed
	// Busy means that the client sends more than it may. MQTT 5 has the reason "quota exceeded"; an
	// MQTT 3 client is disconnected without an acknowledgement and sends the message again later.
	Busy
	// Forbidden messages have a topic that the client may not use. The client is disconnected.
	Forbidden
)

// A Taker decides on the messages of one client, in the order of arrival, and returns a verdict for
// each. Messages that are Taken must be durable when it returns. It is called by one goroutine at a
// time, and must return when ctx ends.
type Taker func(ctx context.Context, messages []Message) []Verdict
