// Package mqtt takes messages in over MQTT 3.1.1 and 5, and acknowledges them when whoever takes them says that they are
// safe: never before. It is a way in, no broker: nothing can be subscribed to, nothing is retained, and QoS ends at 1.
//
// Its surface knows neither what messages say nor which library speaks the protocol; the library is imported here alone.
// The server gives it a Login, and wires what that returns to the readings of devices.
package mqtt

import "context"

// Login is how a client proves who it is.
type Login struct {
	Username string
	Password string
	ClientID string // as the client calls itself; it proves nothing
	Address  string // of the connection, with the port
}

// Message is what a client publishes.
type Message struct {
	Topic   string
	Payload []byte
	QoS     byte // 0 or 1
	Dup     bool // the client says that it may have sent it before
}

// Verdict says what becomes of a message.
type Verdict byte

// The verdicts.
const (
	// Failed messages are not safe, for no fault of theirs. They are not acknowledged, and the client is disconnected, so
	// that it sends them again. It is the zero value: nothing is acknowledged by mistake.
	Failed Verdict = iota
	// Taken messages are safe, and acknowledged.
	Taken
	// Malformed messages can never be taken. They are acknowledged, in MQTT 5 with the reason "payload format invalid",
	// or they would be sent for ever.
	Malformed
	// Busy says that the client sends more than it may. MQTT 5 has the reason "quota exceeded"; a client of MQTT 3 is
	// disconnected without acknowledgement, and sends again later.
	Busy
	// Forbidden messages have a topic that is not the client's. It is disconnected.
	Forbidden
)

// A Taker decides on messages of one client, in the order in which they came, and returns a verdict for each. When it
// returns, those that are Taken are safe. It is called by one goroutine at a time, and bounds its own time by ctx, which
// ends when the broker has to.
type Taker func(ctx context.Context, messages []Message) []Verdict
