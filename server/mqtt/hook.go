package mqtt

import (
	"context"
	"errors"
	"sync"

	mochi "github.com/mochi-mqtt/server/v2"
	"github.com/mochi-mqtt/server/v2/packets"
)

// hook receives the library's callbacks. The library acknowledges messages by itself when a hook
// returns a plain error. So OnPublish always returns ErrRejectPacket, which acknowledges nothing,
// and this package acknowledges instead.
type hook struct {
	mochi.HookBase
	b       *Broker
	clients sync.Map // *mochi.Client → *client
}

func (h *hook) ID() string { return "onefold" }

func (h *hook) Provides(what byte) bool {
	switch what {
	case mochi.OnConnect, mochi.OnConnectAuthenticate, mochi.OnACLCheck, mochi.OnPublish, mochi.OnDisconnect:
		return true
	}
	return false
}

// OnConnect makes sessions private to the user: otherwise anyone who knows a client ID could take
// over its session. Wills are removed, because nobody could receive them.
func (h *hook) OnConnect(cl *mochi.Client, pk packets.Packet) error {
	cl.ID = string(pk.Connect.Username) + "\x00" + cl.ID
	cl.Properties.Will = mochi.Will{}
	if limit := uint16(maxKeepAlive.Seconds()); cl.State.Keepalive == 0 || cl.State.Keepalive > limit {
		cl.State.Keepalive, cl.State.ServerKeepalive = limit, true
	}
	return nil
}

// OnConnectAuthenticate asks Options.Login, and registers the client's Taker.
func (h *hook) OnConnectAuthenticate(cl *mochi.Client, pk packets.Packet) bool {
	ctx, cancel := context.WithTimeout(h.b.ctx, connectFor)
	defer cancel()
	take, err := h.b.o.Login(ctx, Login{
		Username: string(pk.Connect.Username), Password: string(pk.Connect.Password),
		ClientID: pk.Connect.ClientIdentifier, Address: cl.Net.Remote,
	})
	if err != nil || take == nil {
		h.b.counts.refused.Add(1)
		if errors.Is(err, ErrUnavailable) {
			h.turnAway(cl)
		}
		return false
	}
	h.b.counts.clients.Add(1)
	h.clients.Store(cl, &client{b: h.b, cl: cl, take: take, room: make(chan struct{}, h.b.o.MaxInFlight), undecided: map[uint16]bool{}})
	return true
}

// turnAway tells a client to try again later. The library would report a wrong password, after
// which a client may give up for good, and on a closed connection it reports nothing.
func (h *hook) turnAway(cl *mochi.Client) {
	_ = h.b.server.SendConnack(cl, packets.ErrServerUnavailable, false, nil) // best effort
	cl.Stop(packets.ErrServerUnavailable)
}

// maxSubscriptions is the maximum number of topic filters of a client.
const maxSubscriptions = 100

// OnACLCheck allows subscriptions to replies. Whether a topic may be published to is up to the
// Taker. Nothing is published to others, so a subscription shows nothing of them.
func (h *hook) OnACLCheck(cl *mochi.Client, topic string, write bool) bool {
	if write {
		return true
	}
	return h.b.o.MaySubscribe != nil && h.b.o.MaySubscribe(topic) && cl.State.Subscriptions.Len() < maxSubscriptions
}

// OnPublish queues a message. It always rejects the packet, so that the library acknowledges
// nothing.
func (h *hook) OnPublish(cl *mochi.Client, pk packets.Packet) (packets.Packet, error) {
	found, ok := h.clients.Load(cl)
	if !ok {
		return pk, packets.ErrRejectPacket
	}
	c := found.(*client)
	if pk.FixedHeader.Qos == 2 && cl.State.Inflight.Len() >= h.b.o.MaxInFlight { // it releases none of its messages
		c.disconnect(packets.ErrReceiveMaximum)
		return pk, packets.ErrRejectPacket
	}
	c.add(waiting{id: pk.PacketID, Message: Message{
		Topic: pk.TopicName, Payload: pk.Payload, QoS: pk.FixedHeader.Qos, Dup: pk.FixedHeader.Dup,
	}})
	return pk, packets.ErrRejectPacket
}

// OnDisconnect forgets the client. Its queued messages are still decided, unless the broker
// disconnected it for what it sent.
func (h *hook) OnDisconnect(cl *mochi.Client, _ error, _ bool) {
	if _, ok := h.clients.LoadAndDelete(cl); ok {
		h.b.counts.clients.Add(-1)
	}
}
