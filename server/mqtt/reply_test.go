package mqtt_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	v5 "github.com/eclipse/paho.golang/paho"

	"github.com/onefold/onefold/server/mqtt"
)

// A reply reaches the sender of the message if it listens, and no other client. The number of
// filters is limited.
func TestRepliesReachTheirSender(t *testing.T) {
	h := open(t, func(o *mqtt.Options) {
		o.MaySubscribe = func(string) bool { return true }
		o.Login = func(context.Context, mqtt.Login) (mqtt.Taker, error) {
			return func(_ context.Context, ms []mqtt.Message) []mqtt.Verdict {
				verdicts := make([]mqtt.Verdict, len(ms))
				for i := range ms {
					verdicts[i], ms[i].Reply = mqtt.Malformed, mqtt.Reply{Topic: "of/" + ms[i].Topic, Payload: ms[i].Payload}
				}
				return verdicts
			}, nil
		}
	})
	listen := func(user, filter string) (*v5.Client, chan string) {
		c := h.mustBeYoung(user)
		got := make(chan string, 300)
		c.AddOnPublishReceived(func(p v5.PublishReceived) (bool, error) {
			got <- p.Packet.Topic + " " + string(p.Packet.Payload)
			return true, nil
		})
		if _, err := c.Subscribe(t.Context(), &v5.Subscribe{Subscriptions: []v5.SubscribeOptions{{Topic: filter}}}); err != nil {
			t.Fatal(err)
		}
		return c, got
	}
	a, ofA := listen("a", "of/+/x")
	_, ofB := listen("b", "#")
	_, _ = publish(a, "b/y", "unheard") // refused, as all are
	_, _ = publish(a, "b/x", "heard")
	select {
	case text := <-ofA:
		if text != "of/b/x heard" {
			t.Errorf("received %q", text)
		}
	case <-time.After(time.Minute):
		t.Fatal("no reply")
	}
	if len(ofA) > 0 || len(ofB) > 0 {
		t.Errorf("%d more replies, and %d for another client", len(ofA), len(ofB))
	}
	granted := 0
	for i := range 110 {
		if _, err := a.Subscribe(t.Context(), &v5.Subscribe{Subscriptions: []v5.SubscribeOptions{{Topic: fmt.Sprint("filter/", i)}}}); err == nil {
			granted++
		}
	}
	if granted != 99 {
		t.Errorf("%d more filters were granted, want 100 in all", granted)
	}
}
