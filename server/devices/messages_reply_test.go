package devices_test

import (
	"strings"
	"testing"
	"time"

	v3 "github.com/eclipse/paho.mqtt.golang"

	"github.com/onefold/onefold/server/devices"
)

// A device of MQTT 3.1.1 learns from a reply what was wrong with its messages. Nobody else does.
func TestRefusedMessagesAreAnswered(t *testing.T) {
	p := newPlant(t)
	listen := func(c v3.Client, filter string) <-chan string {
		t.Helper()
		replies := make(chan string, 100)
		token := c.Subscribe(filter, 0, func(_ v3.Client, m v3.Message) { replies <- m.Topic() + " " + string(m.Payload()) })
		if token.Wait(); token.Error() != nil {
			t.Fatal(token.Error())
		}
		return replies
	}
	one, other := p.device("d1"), p.device("d2")
	gateway, err := p.connect("gateway", "gate")
	p.must(err)
	mine, theirs, all := listen(one, "devices/d1/rejected"), listen(other, "devices/d1/rejected"), listen(gateway, "devices/+/rejected")
	next := func(replies <-chan string) string {
		t.Helper()
		select {
		case text := <-replies:
			return text
		case <-time.After(time.Minute):
			t.Fatal("no reply")
		}
		return ""
	}
	for _, c := range []struct{ topic, text, want string }{
		{"devices/d1/readings", "garbage", `devices/d1/rejected {"topic":"devices/d1/readings","rejected":1,"omitted":0,"details":[{"reading":0,"reason":"bad_value","detail":"`},
		{"devices/d1/values/t", "[1]", `"detail":"the value must be a number, text or boolean"`},
		{"devices/d1/nowhere", "1", `"detail":"unknown topic"`},
		{"devices/d1/readings", `[{"values":{"t":1}},{"values":{"t":"NaN"}},{"values":{"t":2,"u":[1]}},{"vals":1}]`, `"rejected":2,"omitted":1,"details":[{"reading":1,"reason":"bad_value",`},
	} {
		p.must(say(one, "devices/d1/values/ok", "1")) // nothing is wrong with it
		p.must(say(one, c.topic, c.text))
		if got := next(mine); !strings.Contains(got, c.want) {
			t.Errorf("%s %s: reply %s, want %s", c.topic, c.text, got, c.want)
		}
	}
	p.must(say(one, "devices/d1/readings", "["+strings.Repeat(`{"values":{"t":[]}},`, 999)+`{"values":{"t":[]}}]`))
	if got := next(mine); !strings.Contains(got, `"rejected":1000,`) || strings.Count(got, `"reading":`) != 20 {
		t.Errorf("a thousand rejected readings: %s", got)
	}
	p.must(say(gateway, "devices/d2/readings", "garbage"))
	if got := next(all); !strings.HasPrefix(got, "devices/d2/rejected ") {
		t.Errorf("the gateway: %s", got)
	}
	for name, replies := range map[string]<-chan string{"d1": mine, "d2": theirs, "the gateway": all} {
		if len(replies) > 0 {
			t.Errorf("%s also received %s", name, <-replies)
		}
	}
	for filter, want := range map[string]bool{
		"devices/d1/rejected": true, "devices/+/rejected": true, "#": false, "devices/#": false, "devices/+/readings": false, "devices//rejected": false, "+/d1/rejected": false,
		"devices/a/b/rejected": false, "devices/rejected": false, "$SYS/#": false, "devices/d+/rejected": false, "$share/g/devices/+/rejected": false, "": false,
	} {
		if devices.IsReplyFilter(filter) != want {
			t.Errorf("subscribing to %q: %v, want %v", filter, !want, want)
		}
	}
	if token := one.Subscribe("#", 0, nil); token.Wait() && token.(*v3.SubscribeToken).Result()["#"] != 0x80 {
		t.Errorf("subscribing to everything: %v", token.(*v3.SubscribeToken).Result())
	}
}
