package mqtt_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	v5 "github.com/eclipse/paho.golang/paho"
	v3 "github.com/eclipse/paho.mqtt.golang"
	"go.uber.org/goleak"

	"github.com/onefold/onefold/server/mqtt"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// broker is a broker for a test. Everyone with the password "right" may connect; verdict decides on
// every message.
type broker struct {
	t       *testing.T
	broker  *mqtt.Broker
	addr    string
	stop    func() error
	verdict func(user string, m mqtt.Message) mqtt.Verdict

	mu    sync.Mutex
	taken []string
}

var errRefused = errors.New("refused")

func open(t *testing.T, change func(*mqtt.Options)) *broker {
	t.Helper()
	h := &broker{t: t, verdict: func(string, mqtt.Message) mqtt.Verdict { return mqtt.Taken }}
	o := mqtt.Options{Login: func(_ context.Context, l mqtt.Login) (mqtt.Taker, error) {
		if l.Password != "right" {
			return nil, errRefused
		}
		return func(_ context.Context, ms []mqtt.Message) []mqtt.Verdict { return h.take(l.Username, ms) }, nil
	}}
	if change != nil {
		change(&o)
	}
	var err error
	if h.broker, err = mqtt.New(o); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h.addr = l.Addr().String()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- h.broker.Run(ctx, l) }()
	h.stop = sync.OnceValue(func() error { cancel(); return <-ended })
	t.Cleanup(func() {
		if err := h.stop(); err != nil {
			t.Error(err)
		}
	})
	return h
}

func (h *broker) take(user string, ms []mqtt.Message) []mqtt.Verdict {
	verdicts := make([]mqtt.Verdict, len(ms))
	for i, m := range ms {
		if verdicts[i] = h.verdict(user, m); verdicts[i] == mqtt.Taken {
			h.mu.Lock()
			h.taken = append(h.taken, user+" "+m.Topic+" "+string(m.Payload))
			h.mu.Unlock()
		}
	}
	return verdicts
}

func (h *broker) have() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.taken)
}

// old is a client of MQTT 3.1.1.
func (h *broker) old(user, password, id string) (v3.Client, error) {
	o := v3.NewClientOptions().AddBroker("tcp://" + h.addr).SetClientID(id).SetUsername(user).SetPassword(password).
		SetProtocolVersion(4).SetAutoReconnect(false).SetConnectTimeout(10 * time.Second).SetOrderMatters(false)
	c := v3.NewClient(o)
	token := c.Connect()
	token.Wait()
	h.t.Cleanup(func() { c.Disconnect(0) })
	return c, token.Error()
}

// young is a client of MQTT 5.
func (h *broker) young(user, password, id string) (*v5.Client, *v5.Connack, error) {
	conn, err := net.Dial("tcp", h.addr)
	if err != nil {
		h.t.Fatal(err)
	}
	c := v5.NewClient(v5.ClientConfig{Conn: conn, PacketTimeout: 10 * time.Second})
	ack, err := c.Connect(h.t.Context(), &v5.Connect{
		ClientID: id, Username: user, UsernameFlag: true, Password: []byte(password), PasswordFlag: true, CleanStart: true, KeepAlive: 60,
	})
	h.t.Cleanup(func() { _ = c.Disconnect(&v5.Disconnect{}); _ = conn.Close() })
	return c, ack, err
}

func (h *broker) mustBeYoung(user string) *v5.Client {
	h.t.Helper()
	c, _, err := h.young(user, "right", user)
	if err != nil {
		h.t.Fatal(err)
	}
	return c
}

func publish(c *v5.Client, topic, payload string) (*v5.PublishResponse, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() { // the client would wait for an acknowledgement although it is disconnected
		select {
		case <-c.Done():
			cancel()
		case <-ctx.Done():
		}
	}()
	return c.Publish(ctx, &v5.Publish{Topic: topic, Payload: []byte(payload), QoS: 1})
}

func TestMessagesAreTakenInOrder(t *testing.T) {
	h := open(t, nil)
	c, err := h.old("a", "right", "x")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	var tokens []v3.Token
	for i := range 500 {
		payload := fmt.Sprint(i)
		want = append(want, "a t/1 "+payload)
		tokens = append(tokens, c.Publish("t/1", 1, i%7 == 0, payload))
	}
	for _, token := range tokens {
		if token.Wait(); token.Error() != nil {
			t.Fatal(token.Error())
		}
	}
	if have := h.have(); !slices.Equal(have, want) {
		t.Fatalf("taken: %d messages, %q…", len(have), have[:min(5, len(have))])
	}
	if f := h.broker.Figures(); f.Taken != 500 || f.Clients != 1 {
		t.Errorf("figures: %+v", f)
	}
}

// A message is acknowledged when it is decided, and not before.
func TestNothingIsAcknowledgedEarly(t *testing.T) {
	h := open(t, nil)
	asked, answer := make(chan string), make(chan mqtt.Verdict)
	h.verdict = func(_ string, m mqtt.Message) mqtt.Verdict {
		asked <- string(m.Payload)
		return <-answer
	}
	c, err := h.old("a", "right", "x")
	if err != nil {
		t.Fatal(err)
	}
	token := c.Publish("t", 1, false, "one")
	<-asked
	select {
	case <-token.Done():
		t.Fatal("acknowledged while it was undecided")
	default:
	}
	if f := h.broker.Figures(); f.Waiting != 1 || f.MaxClients != 20_000 {
		t.Errorf("while a message waits: %+v", f)
	}
	answer <- mqtt.Taken
	if token.Wait(); token.Error() != nil {
		t.Fatal(token.Error())
	}
	if err := h.stop(); err != nil {
		t.Error(err)
	}
	if f := h.broker.Figures(); f.Waiting != 0 {
		t.Errorf("at the end: %+v", f)
	}
}

// A failed message is not acknowledged, nor are later ones on the connection, and the client has to
// reconnect.
func TestFailedMessagesAreNotAcknowledged(t *testing.T) {
	h := open(t, nil)
	h.verdict = func(_ string, m mqtt.Message) mqtt.Verdict {
		if string(m.Payload) == "3" {
			return mqtt.Failed
		}
		return mqtt.Taken
	}
	c, err := h.old("a", "right", "x")
	if err != nil {
		t.Fatal(err)
	}
	acknowledged := 0
	for i := range 6 {
		token := c.Publish("t", 1, false, fmt.Sprint(i))
		if token.Wait(); token.Error() == nil {
			acknowledged++
		}
	}
	if acknowledged != 3 || len(h.have()) != 3 {
		t.Errorf("%d acknowledged, taken %q", acknowledged, h.have())
	}
	c5 := h.mustBeYoung("b")
	if _, err := publish(c5, "t", "3"); err == nil {
		t.Error("a failed message was acknowledged in MQTT 5")
	}
}

func TestVerdictsInMQTT5(t *testing.T) {
	h := open(t, nil)
	of := map[string]mqtt.Verdict{"bad": mqtt.Malformed, "much": mqtt.Busy, "good": mqtt.Taken}
	h.verdict = func(_ string, m mqtt.Message) mqtt.Verdict { return of[string(m.Payload)] }
	c := h.mustBeYoung("a")
	for payload, want := range map[string]byte{"bad": 0x99, "much": 0x97, "good": 0} {
		r, err := publish(c, "t", payload)
		if r == nil || r.ReasonCode != want {
			t.Errorf("%s: %+v, %v; want reason %#x", payload, r, err, want)
		}
	}
}

func TestVerdictsInMQTT3(t *testing.T) {
	h := open(t, nil)
	h.verdict = func(_ string, m mqtt.Message) mqtt.Verdict {
		return map[string]mqtt.Verdict{"bad": mqtt.Malformed, "much": mqtt.Busy}[string(m.Payload)]
	}
	c, err := h.old("a", "right", "x")
	if err != nil {
		t.Fatal(err)
	}
	token := c.Publish("t", 1, false, "bad") // it would be sent forever
	if token.Wait(); token.Error() != nil {
		t.Error(token.Error())
	}
	token = c.Publish("t", 1, false, "much")
	if token.Wait(); token.Error() == nil {
		t.Error("a message beyond the quota was acknowledged")
	}
}

func TestForbiddenTopicsDisconnect(t *testing.T) {
	h := open(t, nil)
	h.verdict = func(user string, m mqtt.Message) mqtt.Verdict {
		if strings.HasPrefix(m.Topic, user+"/") {
			return mqtt.Taken
		}
		return mqtt.Forbidden
	}
	c := h.mustBeYoung("a")
	if _, err := publish(c, "a/x", "1"); err != nil {
		t.Fatal(err)
	}
	if _, err := publish(c, "b/x", "2"); err == nil {
		t.Error("a message to another's topic was acknowledged")
	}
	<-c.Done()
	if have := h.have(); len(have) != 1 {
		t.Errorf("taken: %q", have)
	}
}

func TestUnsupportedFeatures(t *testing.T) {
	h := open(t, nil)
	if _, ack, err := h.young("a", "wrong", "x"); err == nil || ack == nil || ack.ReasonCode != 0x86 {
		t.Errorf("a wrong password: %+v, %v", ack, err)
	}
	if _, err := h.old("a", "wrong", "x"); err == nil {
		t.Error("a wrong password was accepted in MQTT 3")
	}
	c := h.mustBeYoung("a")
	r, err := c.Subscribe(t.Context(), &v5.Subscribe{Subscriptions: []v5.SubscribeOptions{{Topic: "#"}, {Topic: "$SYS/#"}, {Topic: "a/x"}}})
	if err == nil || !slices.Equal(r.Reasons, []byte{0x87, 0x87, 0x87}) {
		t.Errorf("subscribing: %+v, %v", r, err)
	}
	if f := h.broker.Figures(); f.Taken != 0 || f.Refused != 2 {
		t.Errorf("figures: %+v", f)
	}
}

// A client takes over its own session, and nobody else's.
func TestSessionsAreTheUsersOwn(t *testing.T) {
	h := open(t, nil)
	a, b := h.mustBeYoung("a"), h.mustBeYoung("b")
	again, _, err := h.young("a", "right", "a")
	if err != nil {
		t.Fatal(err)
	}
	<-a.Done()
	thief, _, err := h.young("c", "right", "b")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]*v5.Client{"again": again, "b": b, "thief": thief} {
		if _, err := publish(c, "t", name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestBounds(t *testing.T) {
	h := open(t, func(o *mqtt.Options) { o.MaxClients, o.MaxPacketBytes = 2, 1024 })
	first := h.mustBeYoung("a")
	h.mustBeYoung("b")
	if _, _, err := h.young("c", "right", "c"); err == nil {
		t.Error("a third client was let in")
	}
	if _, err := publish(first, "t", strings.Repeat("x", 2000)); err == nil {
		t.Error("a large packet was acknowledged")
	}
	if len(h.have()) != 0 {
		t.Errorf("taken: %q", h.have())
	}
}

// A stopping broker decides on what it has read, and acknowledges it.
func TestStopDrains(t *testing.T) {
	h := open(t, nil)
	asked, answer := make(chan bool, 8), make(chan mqtt.Verdict)
	h.verdict = func(string, mqtt.Message) mqtt.Verdict { asked <- true; return <-answer }
	c, err := h.old("a", "right", "x")
	if err != nil {
		t.Fatal(err)
	}
	token := c.Publish("t", 1, false, "one")
	<-asked
	stopped := make(chan error, 1)
	go func() { stopped <- h.stop() }()
	answer <- mqtt.Taken
	if token.Wait(); token.Error() != nil {
		t.Error(token.Error())
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

// FuzzPackets sends invalid packets, before and after a login.
func FuzzPackets(f *testing.F) {
	connect := "\x10\x15\x00\x04MQTT\x04\xc2\x00\x3c\x00\x01x\x00\x01a\x00\x05right"
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"))
	f.Add([]byte(connect + "\x32\x06\x00\x01t\x00\x01!"))
	f.Add([]byte(connect + "\x34\x06\x00\x01t\x00\x01!\xff\xff\xff\xff"))
	f.Add([]byte(connect + "\x30\x04\x00\x01#!\xe0\x00"))
	broker, err := mqtt.New(mqtt.Options{Login: func(context.Context, mqtt.Login) (mqtt.Taker, error) {
		return func(_ context.Context, ms []mqtt.Message) []mqtt.Verdict { return make([]mqtt.Verdict, len(ms)) }, nil
	}})
	if err != nil {
		f.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		f.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- broker.Run(ctx, l) }()
	f.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			f.Error(err)
		}
	})
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_, _ = c.Write(b) // it may hang up before it has read everything
		if err := c.(*net.TCPConn).CloseWrite(); err == nil {
			_, _ = c.Read(make([]byte, 64)) // until it hangs up, or responds
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	})
}
