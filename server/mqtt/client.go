package mqtt

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	mochi "github.com/mochi-mqtt/server/v2"
	"github.com/mochi-mqtt/server/v2/packets"
)

// client is the state of one connection. Its messages are decided in the background, many at a
// time, and acknowledged in the order of arrival [MQTT-4.6.0-2]. So the messages of a client that
// does not wait for each acknowledgement share disk syncs. An idle client has no goroutine here.
type client struct {
	b    *Broker
	cl   *mochi.Client
	take Taker

	room chan struct{} // has an entry for each undecided message; while it is full, the connection is not read

	mu      sync.Mutex // guards the fields below
	queue   []waiting
	running bool // a goroutine runs for the queue
	over    bool // it was disconnected for what it sent; further messages are ignored

	undecided map[uint16]bool // IDs of queued messages with QoS 2, which a client may send again
}

// waiting is a message that is not decided yet.
type waiting struct {
	Message
	id uint16
}

// mostAtOnce is the maximum number of messages per call of a Taker.
const mostAtOnce = 256

// add queues a message. It waits while too many are undecided, and returns when the message is
// queued or has been dropped.
func (c *client) add(m waiting) {
	select {
	case <-c.b.done: // checked first, because select chooses at random below
		return
	default:
	}
	select {
	case c.room <- struct{}{}:
	case <-c.b.done:
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over || !c.running && !c.b.begin() {
		<-c.room
		return
	}
	if m.QoS == 2 {
		if c.undecided[m.id] {
			<-c.room
			return
		}
		c.undecided[m.id] = true
	}
	c.queue = append(c.queue, m)
	c.b.counts.waiting.Add(1)
	if !c.running {
		c.running = true
		go c.run()
	}
}

// run decides on messages until there are none.
func (c *client) run() {
	defer c.b.deciding.Done()
	for {
		c.mu.Lock()
		n := min(len(c.queue), mostAtOnce)
		if n == 0 || c.over {
			c.drop()
			c.mu.Unlock()
			return
		}
		ms := c.queue[:n:n]
		if c.queue = c.queue[n:]; len(c.queue) == 0 {
			c.queue = nil
		}
		c.mu.Unlock()
		c.decide(ms)
		c.b.counts.waiting.Add(-int64(n))
		for range ms {
			<-c.room
		}
	}
}

// drop ends a run. The caller holds mu.
func (c *client) drop() {
	for range c.queue {
		<-c.room
	}
	c.b.counts.waiting.Add(-int64(len(c.queue)))
	c.queue, c.running = nil, false
}

// decide calls the Taker and acts on its verdicts.
func (c *client) decide(ms []waiting) {
	ctx, cancel := context.WithTimeout(c.b.ctx, takeFor)
	defer cancel()
	messages := make([]Message, len(ms))
	for i := range ms {
		messages[i] = ms[i].Message
	}
	verdicts := c.take(ctx, messages)
	for i := range ms {
		v := Failed
		if i < len(verdicts) {
			v = verdicts[i]
		}
		c.b.counts.verdicts[v].Add(1)
		if !c.answer(&ms[i], v) || !c.tell(&messages[i].Reply) {
			c.mu.Lock()
			c.over = true
			c.mu.Unlock()
			return
		}
	}
}

// answer acknowledges a message, or disconnects the client and returns false.
func (c *client) answer(m *waiting, v Verdict) bool {
	newer := c.cl.Properties.ProtocolVersion >= 5
	code := packets.CodeSuccess
	switch {
	case v == Taken:
	case v == Malformed && newer:
		code = packets.ErrPayloadFormatInvalid
	case v == Malformed:
	case v == Busy && newer:
		code = packets.ErrQuotaExceeded
	case v == Busy:
		return c.disconnect(packets.ErrQuotaExceeded)
	case v == Forbidden:
		return c.disconnect(packets.ErrNotAuthorized)
	default:
		return c.disconnect(packets.ErrServerBusy)
	}
	if m.QoS == 0 {
		return true
	}
	ack := packets.Packet{FixedHeader: packets.FixedHeader{Type: packets.Puback}, PacketID: m.id, ReasonCode: code.Code}
	if code.Code >= packets.ErrUnspecifiedError.Code {
		ack.Properties.ReasonString = code.Reason
	}
	if m.QoS == 2 {
		ack.FixedHeader.Type = packets.Pubrec
		c.received(ack)
	}
	if err := c.cl.WritePacket(ack); err != nil { // the client did not receive it and will send the message again
		c.cl.Stop(err)
		return false
	}
	return true
}

// tell sends a reply to the client, if it has subscribed to the topic. It returns false if the
// client is gone.
func (c *client) tell(r *Reply) bool {
	if r.Topic == "" || !c.wants(r.Topic) {
		return true
	}
	err := c.cl.WritePacket(packets.Packet{FixedHeader: packets.FixedHeader{Type: packets.Publish}, TopicName: r.Topic, Payload: r.Payload})
	if err != nil && !errors.Is(err, packets.ErrPacketTooLarge) { // the client set a limit of its own
		c.cl.Stop(err)
		return false
	}
	return true
}

// wants reports whether the client has subscribed to a topic.
func (c *client) wants(topic string) bool {
	for filter := range c.cl.State.Subscriptions.GetAll() {
		if matches(filter, topic) {
			return true
		}
	}
	return false
}

// matches reports whether a topic matches a filter, in which + stands for a level and # for the
// remaining levels [MQTT-4.7.1].
func matches(filter, topic string) bool {
	of, levels := strings.Split(filter, "/"), strings.Split(topic, "/")
	for i, level := range of {
		switch {
		case level == "#":
			return true
		case i == len(levels) || level != "+" && level != levels[i]:
			return false
		}
	}
	return len(of) == len(levels)
}

// received remembers the acknowledgement of a message with QoS 2 until the client releases the
// message's ID [MQTT-4.3.3-10]: until then, a message with this ID is the same message. The library
// answers it, and the release. A message that was refused with a reason is over [MQTT-4.3.3-9].
func (c *client) received(ack packets.Packet) {
	c.mu.Lock()
	delete(c.undecided, ack.PacketID)
	c.mu.Unlock()
	if ack.ReasonCode < packets.ErrUnspecifiedError.Code {
		ack.Created = time.Now().Unix()
		c.cl.State.Inflight.Set(ack)
	}
}

// disconnect closes the connection. MQTT 5 clients are told why.
func (c *client) disconnect(why packets.Code) bool {
	if c.cl.Properties.ProtocolVersion >= 5 {
		_ = c.b.server.DisconnectClient(c.cl, why) // returns why
	}
	c.cl.Stop(why)
	return false
}
