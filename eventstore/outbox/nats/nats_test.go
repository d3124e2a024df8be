package nats_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	client "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/outbox"
	"github.com/onefold/onefold/eventstore/outbox/nats"
	"github.com/onefold/onefold/eventstore/subscription"
)

// startServer starts a server of NATS with a stream for all events.
func startServer(t *testing.T) (s *server.Server, js jetstream.JetStream) {
	t.Helper()
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoSigs: true, NoLog: true})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(20 * time.Second) {
		t.Fatal("the server does not start")
	}
	js = connect(t, s.ClientURL())
	_, err = js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "EVENTS", Subjects: []string{"events.>"}, Storage: jetstream.MemoryStorage, MaxMsgSize: 2000})
	if err != nil {
		t.Fatal(err)
	}
	return s, js
}

func connect(t *testing.T, url string) jetstream.JetStream {
	t.Helper()
	c, err := client.Connect(url, client.MaxReconnects(-1), client.ReconnectWait(10*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	js, err := jetstream.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return js
}

// stored returns the messages of the stream.
func stored(t *testing.T, js jetstream.JetStream) (all []*jetstream.RawStreamMsg) {
	t.Helper()
	s, err := js.Stream(t.Context(), "EVENTS")
	if err != nil {
		t.Fatal(err)
	}
	for n := uint64(1); n <= s.CachedInfo().State.LastSeq; n++ {
		m, err := s.GetMsg(t.Context(), n)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, m)
	}
	return all
}

func ids(all []*jetstream.RawStreamMsg) (ids []string) {
	for _, m := range all {
		ids = append(ids, m.Header.Get("Nats-Msg-Id"))
	}
	return ids
}

// feed returns events of the aggregates with the given IDs.
func feed(aggregates ...string) (all []eventstore.FeedEvent) {
	for i, id := range aggregates {
		all = append(all, eventstore.FeedEvent{Position: int64(i + 1), Event: eventstore.Event{
			EventKey: eventstore.EventKey{ID: eventstore.ID{Type: "or.der", ID: id}, Seq: int64(i + 1)},
			EventID:  fmt.Sprintf("%s-%d", id, i), EventType: "Ümlaut Changed", OccurredAt: time.Unix(1776686400, 0), Payload: eventstore.Payload(`{"n":1}`),
		}})
	}
	return all
}

func TestPublish(t *testing.T) {
	t.Parallel()
	_, js := startServer(t)
	handle := outbox.To(nats.New(js, nats.Options{Stream: "EVENTS"}), outbox.Options{})
	events := feed("a", "a", "b", "a")
	for range 2 { // the second time, the stream has them
		if n, err := handle(t.Context(), events); n != 4 || err != nil {
			t.Fatal(n, err)
		}
	}
	all := stored(t, js)
	got := ids(all)
	if len(got) != 4 || slices.Index(got, "a-0") > slices.Index(got, "a-1") || slices.Index(got, "a-1") > slices.Index(got, "a-3") {
		t.Errorf("stored %v", got)
	}
	if m := all[0]; m.Subject != "events.or_der" || m.Header.Get("content-type") != "application/cloudevents+json" || !strings.HasPrefix(string(m.Data), `{"specversion":"1.0","id":"`) {
		t.Errorf("%s %v %s", m.Subject, m.Header, m.Data)
	}
	handle = outbox.To(nats.New(js, nats.Options{Binary: true, Subject: func(e *outbox.Event) string { return "events.x" }}), outbox.Options{})
	if n, err := handle(t.Context(), feed("c")); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	m := stored(t, js)[4]
	if m.Subject != "events.x" || string(m.Data) != `{"n":1}` || m.Header.Get("ce-type") != "%C3%9Cmlaut%20Changed" || m.Header.Get("ce-id") != "c-0" || m.Header.Get("content-type") != "application/json" {
		t.Errorf("%s %v %s", m.Subject, m.Header, m.Data)
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	_, js := startServer(t)
	large := feed("a", "b", "a")
	large[1].Payload = make(eventstore.Payload, 3000)
	n, err := outbox.To(nats.New(js, nats.Options{}), outbox.Options{})(t.Context(), large)
	if n != 1 || !isPermanent(err) {
		t.Errorf("a large event: %d, %v", n, err)
	}
	large[1].Payload = make(eventstore.Payload, 2<<20)
	if n, err = outbox.To(nats.New(js, nats.Options{}), outbox.Options{})(t.Context(), large[1:]); n != 0 || !isPermanent(err) {
		t.Errorf("a huge event: %d, %v", n, err)
	}
	for name, o := range map[string]nats.Options{
		"another stream": {Stream: "OTHER"},
		"no stream":      {Subject: func(*outbox.Event) string { return "elsewhere" }},
	} {
		if n, err := outbox.To(nats.New(js, o), outbox.Options{})(t.Context(), feed("a")); n != 0 || err == nil || isPermanent(err) {
			t.Errorf("%s: %d, %v", name, n, err)
		}
	}
}

// TestLostAnswer cuts the connection after the stream has stored an event, and before its
// acknowledgement arrives. The event is sent again, and stored once.
func TestLostAnswer(t *testing.T) {
	t.Parallel()
	s, direct := startServer(t)
	p := newProxy(t, s.Addr().String())
	handle := outbox.To(nats.New(connect(t, "nats://"+p.Addr().String()), nats.Options{Timeout: 500 * time.Millisecond}), outbox.Options{})
	if n, err := handle(t.Context(), feed("a")); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	p.deaf.Store(true)
	events := feed("b", "c", "b")
	if n, err := handle(t.Context(), events); n != 0 || err == nil || isPermanent(err) {
		t.Fatalf("without answers: %d, %v", n, err)
	}
	if got := ids(stored(t, direct)); len(got) != 3 {
		t.Fatalf("stored %v", got)
	}
	p.deaf.Store(false)
	p.cut()
	for attempt := 0; ; attempt++ {
		n, err := handle(t.Context(), events)
		if events = events[n:]; err == nil {
			break
		}
		if attempt > 50 {
			t.Fatal(err)
		}
	}
	got := ids(stored(t, direct))
	if slices.Sort(got); !slices.Equal(got, []string{"a-0", "b-0", "b-2", "c-1"}) {
		t.Errorf("stored %v", got)
	}
}

// proxy passes connections to a server.
type proxy struct {
	net.Listener
	deaf  atomic.Bool // drop what the server says
	mu    sync.Mutex
	conns []net.Conn
}

func newProxy(t *testing.T, server string) *proxy {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{Listener: l}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", server)
			if err != nil {
				in.Close()
				continue
			}
			p.mu.Lock()
			p.conns = append(p.conns, in, out)
			p.mu.Unlock()
			running.Go(func() { io.Copy(out, in); out.Close() })
			running.Go(func() { io.Copy(&answers{in, p}, out); in.Close() })
		}
	})
	t.Cleanup(func() { l.Close(); p.cut(); running.Wait() })
	return p
}

// cut closes all connections.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		c.Close()
	}
	p.conns = nil
}

type answers struct {
	to net.Conn
	p  *proxy
}

func (a *answers) Write(b []byte) (int, error) {
	if a.p.deaf.Load() {
		return len(b), nil
	}
	return a.to.Write(b)
}

// isPermanent reports whether a subscription would park the event at once.
func isPermanent(err error) bool {
	for ; err != nil; err = errors.Unwrap(err) {
		if fmt.Sprintf("%T", err) == fmt.Sprintf("%T", subscription.Permanent(context.Canceled)) {
			return true
		}
	}
	return false
}
