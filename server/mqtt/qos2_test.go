package mqtt_test

import (
	"bytes"
	"encoding/hex"
	"io"
	"net"
	"slices"
	"testing"
	"time"

	v5 "github.com/eclipse/paho.golang/paho"

	"github.com/onefold/onefold/server/mqtt"
)

// Clients of both versions publish with QoS 2. MQTT 5 is told why a message is refused.
func TestExactlyOnceDelivery(t *testing.T) {
	h := open(t, nil)
	h.verdict = func(_ string, m mqtt.Message) mqtt.Verdict {
		if string(m.Payload) == "garbage" {
			return mqtt.Malformed
		}
		return mqtt.Taken
	}
	old, err := h.old("a", "right", "x")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"one", "garbage", "two"} {
		if token := old.Publish("a/t", 2, false, text); !token.WaitTimeout(10*time.Second) || token.Error() != nil {
			t.Errorf("MQTT 3, %s: %v", text, token.Error())
		}
	}
	young := h.mustBeYoung("b")
	for _, text := range []string{"three", "garbage", "four"} {
		r, err := young.Publish(t.Context(), &v5.Publish{Topic: "b/t", Payload: []byte(text), QoS: 2})
		if refused := text == "garbage"; err != nil || (r.ReasonCode == 0x99) != refused {
			t.Errorf("MQTT 5, %s: %+v, %v", text, r, err)
		}
	}
	if want := []string{"a a/t one", "a a/t two", "b b/t three", "b b/t four"}; !slices.Equal(h.have(), want) {
		t.Errorf("taken %q, want %q", h.have(), want)
	}
}

// raw is a connection of MQTT 3.1.1 that speaks in bytes.
type raw struct {
	t *testing.T
	net.Conn
}

// exchange sends packets and expects others, both in hexadecimal.
func (r raw) exchange(send, want string) {
	r.t.Helper()
	packets, err := hex.DecodeString(send)
	if err != nil {
		r.t.Fatal(err)
	}
	if _, err := r.Write(packets); err != nil {
		r.t.Fatal(err)
	}
	expected, err := hex.DecodeString(want)
	if err != nil {
		r.t.Fatal(err)
	}
	got := make([]byte, len(expected))
	if _, err := io.ReadFull(r, got); err != nil || !bytes.Equal(got, expected) {
		r.t.Fatalf("sent %s: received %x, %v; want %s", send, got, err, want)
	}
}

func (h *broker) raw() raw {
	conn, err := net.Dial("tcp", h.addr)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		h.t.Fatal(err)
	}
	r := raw{h.t, conn}
	// CONNECT with client c, user a, password right, a clean session; CONNACK
	r.exchange("101700044d51545404c2003c000163000161"+"0005"+hex.EncodeToString([]byte("right")), "20020000")
	return r
}

// A message that is sent again is taken once until its ID is released. Then the ID names another.
func TestRepeatedPublishIsTakenOnce(t *testing.T) {
	h := open(t, nil)
	r := h.raw()
	const publish, again, received, release, complete = "34060001740007" + "31", "3c060001740007" + "31", "50020007", "62020007", "70020007"
	r.exchange(publish, received)
	r.exchange(again, received)
	r.exchange(again+release, received+complete)
	r.exchange(release, complete) // the answer was lost
	if have := h.have(); len(have) != 1 {
		t.Errorf("taken %q, want it once", have)
	}
	r.exchange(publish, received)
	r.exchange(release, complete)
	if have := h.have(); len(have) != 2 {
		t.Errorf("taken %q, want another message with the same ID", have)
	}
}

// A message that is sent again while it is undecided is taken once.
func TestRepeatedPublishWhileUndecided(t *testing.T) {
	h := open(t, nil)
	decide := make(chan struct{})
	h.verdict = func(string, mqtt.Message) mqtt.Verdict { <-decide; return mqtt.Taken }
	r := h.raw()
	r.exchange("34060001740007"+"31"+"3c060001740007"+"31"+"c000", "d000") // PINGREQ: both have been read
	close(decide)
	r.exchange("", "50020007")
	r.exchange("62020007", "70020007")
	if have := h.have(); len(have) != 1 {
		t.Errorf("taken %q, want it once", have)
	}
}

// A client that releases nothing is disconnected before it fills the memory.
func TestUnreleasedMessagesAreBounded(t *testing.T) {
	h := open(t, func(o *mqtt.Options) { o.MaxInFlight = 3 })
	r := h.raw()
	for _, id := range []string{"0001", "0002", "0003"} {
		r.exchange("3406000174"+id+"31", "5002"+id)
	}
	if _, err := r.Write([]byte{0x34, 0x06, 0, 1, 't', 0, 4, '1'}); err != nil {
		t.Fatal(err)
	}
	if n, err := r.Read(make([]byte, 1)); err == nil {
		t.Errorf("%d bytes were received", n)
	}
	if have := h.have(); len(have) != 3 {
		t.Errorf("taken %q", have)
	}
}
