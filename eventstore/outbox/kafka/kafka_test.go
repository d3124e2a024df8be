package kafka_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/outbox"
	"github.com/onefold/onefold/eventstore/outbox/kafka"
	"github.com/onefold/onefold/eventstore/subscription"
)

// tester is a *testing.T or a *rapid.T.
type tester interface {
	Cleanup(func())
	Fatal(...any)
	Context() context.Context
}

// cluster is a fake of Kafka's protocol with a topic of three partitions.
type cluster struct {
	*kfake.Cluster
	lose atomic.Int32 // how many of the next answers are lost, with their connections
}

func newCluster(t tester) *cluster {
	c := &cluster{}
	var err error
	c.Cluster, err = kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(3, "orders"), kfake.ListenFn(func(network, _ string) (net.Listener, error) {
		l, err := net.Listen(network, "127.0.0.1:0")
		return &lossyListener{l, c}, err
	}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func (c *cluster) client(t tester, options ...kgo.Opt) *kgo.Client {
	client, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(c.ListenAddrs()...), kgo.RetryBackoffFn(func(int) time.Duration { return 5 * time.Millisecond })}, options...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

func (c *cluster) handler(t tester, o kafka.Options, options ...kgo.Opt) subscription.Handler {
	d, err := kafka.New(c.client(t, options...), "orders", o)
	if err != nil {
		t.Fatal(err)
	}
	return outbox.To(d, outbox.Options{TypePrefix: "com.example."})
}

// lossyListener accepts connections that lose answers.
type lossyListener struct {
	net.Listener
	c *cluster
}

func (l *lossyListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	return &lossyConn{Conn: conn, c: l.c}, err
}

type lossyConn struct {
	net.Conn
	c *cluster
}

func (l *lossyConn) Write(b []byte) (int, error) {
	if l.c.lose.Load() > 0 && l.c.lose.Add(-1) >= 0 {
		return 0, errors.Join(errors.New("lost"), l.Close())
	}
	return l.Conn.Write(b)
}

// stored returns the records of the topic, by partition.
func (c *cluster) stored(t tester, n int) (all []*kgo.Record) {
	consumer := c.client(t, kgo.ConsumeTopics("orders"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchMaxWait(20*time.Millisecond))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for quiet := 0; len(all) < n || quiet < 1; {
		poll, stop := ctx, context.CancelFunc(func() {})
		if len(all) >= n { // more than expected?
			poll, stop = context.WithTimeout(ctx, 20*time.Millisecond)
			quiet++
		}
		fetches := consumer.PollFetches(poll)
		stop()
		fetches.EachRecord(func(r *kgo.Record) { all = append(all, r) })
		if ctx.Err() != nil {
			t.Fatal(fmt.Sprintf("%d records of %d", len(all), n))
		}
	}
	return all
}

// feed returns events of orders. The ID of an event is its order, a dash and its number.
func feed(orders ...string) (all []eventstore.FeedEvent) {
	seqs := map[string]int64{}
	for i, id := range orders {
		seqs[id]++
		all = append(all, eventstore.FeedEvent{Position: int64(i + 1), Event: eventstore.Event{
			EventKey: eventstore.EventKey{ID: eventstore.ID{Type: "order", ID: id}, Seq: seqs[id]}, EventID: fmt.Sprintf("%s-%d", id, seqs[id]),
			EventType: "OrderPaid", OccurredAt: time.Unix(1776686400, 0), Payload: eventstore.Payload(`{"n":1}`),
		}})
	}
	return all
}

// idOf returns the ID of an event in structured mode.
func idOf(r *kgo.Record) string {
	_, id, _ := strings.Cut(string(r.Value), `"id":"`)
	id, _, _ = strings.Cut(id, `"`)
	return id
}

func headers(r *kgo.Record) string {
	var b strings.Builder
	for _, h := range r.Headers {
		fmt.Fprintf(&b, "%s: %s\n", h.Key, h.Value)
	}
	return b.String()
}

func isPermanent(err error) bool {
	for ; err != nil; err = errors.Unwrap(err) {
		if fmt.Sprintf("%T", err) == fmt.Sprintf("%T", subscription.Permanent(nil)) {
			return true
		}
	}
	return false
}

func TestProduce(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	if n, err := c.handler(t, kafka.Options{})(t.Context(), feed("a")); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	events := feed("a", "a")[1:]
	events[0].Payload = nil
	if n, err := c.handler(t, kafka.Options{Binary: true})(t.Context(), append(events, feed("ü b")...)); n != 2 || err != nil {
		t.Fatal(n, err)
	}
	byID := map[string]*kgo.Record{}
	for _, r := range c.stored(t, 3) {
		byID[string(r.Key)+" "+fmt.Sprint(r.Offset > 0 && string(r.Key) == "order/a")] = r
	}
	if r := byID["order/a false"]; r == nil || headers(r) != "content-type: application/cloudevents+json\n" || !strings.HasPrefix(string(r.Value), `{"specversion":"1.0","id":"a-1"`) {
		t.Errorf("structured: %+v", r)
	}
	want := "ce_specversion: 1.0\nce_id: ü b-1\nce_source: onefold\nce_type: com.example.OrderPaid\nce_subject: order/ü b\nce_time: 2026-04-20T12:00:00Z\nce_sequence: 0000000000000000001-0000\nce_schemaversion: 1\ncontent-type: application/json\n"
	if r := byID["order/ü b false"]; r == nil || headers(r) != want || string(r.Value) != `{"n":1}` {
		t.Errorf("binary: %+v", r)
	}
	if r := byID["order/a true"]; r == nil || r.Value != nil || strings.Contains(headers(r), "content-type") {
		t.Errorf("without a payload: %+v", r)
	}
}

// TestLostAnswers loses answers after the records were stored: the idempotent producer repeats its
// requests, and each record is stored once.
func TestLostAnswers(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	publish := c.handler(t, kafka.Options{})
	orders := []string{"a", "b", "c"}
	if n, err := publish(t.Context(), feed(orders...)); n != 3 || err != nil {
		t.Fatal(n, err)
	}
	c.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
		c.DropControl() // the cluster handles the request
		c.lose.Store(1) // the next answer of any kind is that of this request
		return nil, nil, false
	})
	if n, err := publish(t.Context(), feed("a", "b", "c", "a", "b", "c")[3:]); n != 3 || err != nil {
		t.Fatal(n, err)
	}
	if lost := c.lose.Load(); lost > 0 {
		t.Fatal("no answer was lost")
	}
	got := map[string]int{}
	for _, r := range c.stored(t, 6) {
		got[idOf(r)]++
	}
	if len(got) != 6 || slices.Max(slices.Collect(maps.Values(got))) != 1 {
		t.Errorf("stored %v", got)
	}
	// Published again, as after a crash, an event is stored again.
	if n, err := publish(t.Context(), feed("a")); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	if all := c.stored(t, 7); len(all) != 7 {
		t.Errorf("%d records", len(all))
	}
}

// refuse makes the answer to a produce request that stores nothing.
func refuse(req kmsg.Request, code int16) kmsg.Response {
	in := req.(*kmsg.ProduceRequest)
	out := in.ResponseKind().(*kmsg.ProduceResponse)
	for _, topic := range in.Topics {
		t := kmsg.NewProduceResponseTopic()
		t.Topic, t.TopicID = topic.Topic, topic.TopicID
		for _, p := range topic.Partitions {
			r := kmsg.NewProduceResponseTopicPartition()
			r.Partition, r.ErrorCode, r.BaseOffset = p.Partition, code, -1
			t.Partitions = append(t.Partitions, r)
		}
		out.Topics = append(out.Topics, t)
	}
	return out
}

func TestErrors(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	large := feed("a", "b", "c", "b")
	large[1].Payload = make(eventstore.Payload, 1<<20)
	n, err := c.handler(t, kafka.Options{})(t.Context(), large)
	if n != 1 || !isPermanent(err) {
		t.Errorf("an event that is too large for the client: %d, %v", n, err)
	}
	for _, r := range c.stored(t, 1) {
		if id := idOf(r); id == "b-2" {
			t.Error("a later event overtook")
		}
	}
	for code, permanent := range map[int16]bool{kerr.MessageTooLarge.Code: true, kerr.InvalidRecord.Code: true, kerr.TopicAuthorizationFailed.Code: false, kerr.PolicyViolation.Code: false} {
		c := newCluster(t)
		c.ControlKey(int16(kmsg.Produce), func(req kmsg.Request) (kmsg.Response, error, bool) { return refuse(req, code), nil, true })
		publish := c.handler(t, kafka.Options{})
		if n, err := publish(t.Context(), feed("a")); n != 0 || err == nil || isPermanent(err) != permanent {
			t.Errorf("%v: %d, %v", kerr.ErrorForCode(code), n, err)
		}
		if n, err := publish(t.Context(), feed("a")); n != 1 || err != nil {
			t.Errorf("after %v: %d, %v", kerr.ErrorForCode(code), n, err)
		}
	}
	d, err := kafka.New(c.client(t), "missing", kafka.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if n, err := outbox.To(d, outbox.Options{})(t.Context(), feed("a")); n != 0 || err == nil || isPermanent(err) {
		t.Errorf("no topic: %d, %v", n, err)
	}
}

// TestTimeout has a broker that does not answer.
func TestTimeout(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	var block atomic.Bool
	block.Store(true)
	c.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
		c.SleepControl(func() {
			for block.Load() {
				time.Sleep(time.Millisecond)
			}
		})
		return nil, nil, false
	})
	publish := c.handler(t, kafka.Options{Timeout: 200 * time.Millisecond})
	if n, err := publish(t.Context(), feed("a")); n != 0 || !errors.Is(err, context.DeadlineExceeded) || isPermanent(err) {
		t.Errorf("%d, %v", n, err)
	}
	block.Store(false)
	for attempt := 0; ; attempt++ {
		if n, err := publish(t.Context(), feed("a", "a")); err == nil && n == 2 {
			break
		} else if attempt > 50 {
			t.Fatal(n, err)
		}
	}
	var got []string
	for _, r := range c.stored(t, 2) {
		if id := idOf(r); !slices.Contains(got, id) {
			got = append(got, id)
		}
	}
	if !slices.Equal(got, []string{"a-1", "a-2"}) {
		t.Errorf("stored %v", got)
	}
}

// TestRandomFailures refuses requests at random: all events are stored, those of an aggregate in one
// partition and in order, apart from repetitions.
func TestRandomFailures(t *testing.T) {
	if t.Parallel(); testing.Short() {
		t.Skip("-short leaves out what waits for retries of the client: run the test without -short")
	}
	rapid.Check(t, func(t *rapid.T) {
		c := newCluster(t)
		events := feed(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}), 1, 30).Draw(t, "orders")...)
		fates := rapid.SliceOfN(rapid.IntRange(0, 3), 0, 6).Draw(t, "fates")
		c.ControlKey(int16(kmsg.Produce), func(req kmsg.Request) (kmsg.Response, error, bool) {
			c.KeepControl()
			fate := 3
			if len(fates) > 0 {
				fate, fates = fates[0], fates[1:]
			}
			switch fate {
			case 0: // the client does not retry
				return refuse(req, kerr.PolicyViolation.Code), nil, true
			case 1: // it does
				return refuse(req, kerr.NotLeaderForPartition.Code), nil, true
			case 2:
				return nil, errors.New("closed"), true
			}
			return nil, nil, false
		})
		publish := c.handler(t, kafka.Options{AtOnce: rapid.IntRange(1, 8).Draw(t, "at once")}, kgo.MetadataMinAge(10*time.Millisecond))
		for rest := events; len(rest) > 0; {
			n, err := publish(t.Context(), rest)
			if err == nil != (n == len(rest)) || isPermanent(err) {
				t.Fatal(n, err)
			}
			rest = rest[n:]
		}
		first, partitions := map[string]int{}, map[string]int32{}
		for i, r := range c.stored(t, len(events)) {
			if _, repeated := first[idOf(r)]; !repeated {
				first[idOf(r)] = i
			}
			if p, seen := partitions[string(r.Key)]; seen && p != r.Partition {
				t.Fatalf("%s is in two partitions", r.Key)
			}
			partitions[string(r.Key)] = r.Partition
		}
		for _, e := range events {
			at, stored := first[e.EventID]
			if before := fmt.Sprintf("%s-%d", e.ID.ID, e.Seq-1); !stored || e.Seq > 1 && at < first[before] {
				t.Fatalf("%s: stored %v, or before %s: %v", e.EventID, stored, before, first)
			}
		}
	})
}

func TestUnsafeClients(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	for name, options := range map[string][]kgo.Opt{
		"acks":        {kgo.RequiredAcks(kgo.LeaderAck()), kgo.DisableIdempotentWrite()},
		"idempotence": {kgo.DisableIdempotentWrite()},
		"cancel":      {kgo.AllowIdempotentProduceCancellation()},
	} {
		if _, err := kafka.New(c.client(t, options...), "orders", kafka.Options{}); !errors.Is(err, kafka.ErrClient) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := kafka.New(c.client(t), "", kafka.Options{}); !errors.Is(err, kafka.ErrClient) {
		t.Errorf("no topic: %v", err)
	}
}
