package events_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/onefold/onefold/engine/enginetest"
	"github.com/onefold/onefold/internal/seeds"
	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/servertest"
)

const subscriptions = "/api/v1/events/subscriptions"

// received is an event that a consumer has received.
type received struct {
	Token       string
	Attempt     int
	Position    int64
	AggregateID string
	Seq         int64
	Type        string
}

func (s *shop) receive(who *servertest.Person, name, ask string) []received {
	s.Helper()
	var answer struct{ Events []received }
	servertest.Must(s.T, json.Unmarshal([]byte(who.Want(200, `"events":[`, "POST", subscriptions+"/"+name+"/receive", ask, s.keys[accounts.Write]...)), &answer))
	return answer.Events
}

func tokens(all ...received) string {
	list := make([]string, len(all))
	for i, e := range all {
		list[i] = `"` + e.Token + `"`
	}
	return "[" + strings.Join(list, ",") + "]"
}

// Consumers receive, acknowledge and reject events over HTTP.
func TestReceive(t *testing.T) {
	s := newShop(t)
	web := s.Browser()
	do := func(status int, says, method, path, body string) string {
		t.Helper()
		return web.Want(status, says, method, subscriptions+path, body, s.keys[accounts.Write]...)
	}
	do(201, `"name":"mails","position":0,"lag":0,"handled":0,"parked":0,"pulled":true`, "PUT", "/mails", `{"eventTypes":["Sent","Bad"],"attempts":1,"partitions":1}`)
	do(200, `"pulled":true`, "PUT", "/mails", `{"eventTypes":["Sent","Bad"],"attempts":1}`)
	do(409, "subscription_exists", "PUT", "/mails", `{}`)
	do(422, "invalid_request", "PUT", "/a%23b", `{}`)
	do(422, "invalid_request", "PUT", "/late", `{"after":7}`)
	do(422, "invalid_request", "PUT", "/late", `{"after":1,"fromEnd":true}`)
	do(404, "no_such_subscription", "POST", "/none/receive", "")
	do(422, "invalid_request", "POST", "/mails/receive", `{"wait":21}`)
	do(200, `{"events":[]}`, "POST", "/mails/receive", "")
	do(200, `{"events":[]}`, "POST", "/mails/receive", `{"wait":0.01}`)
	s.append("1", `{"events":[{"type":"Sent","data":{"n":1}},{"type":"Bad"},{"type":"Other"},{"type":"Sent"}]}`)
	servertest.Must(t, s.Worker.Drain(t.Context()))
	mustTell(s, `onefold_subscription_lag{subscription="mails"} 1`, `onefold_subscription_parked_events{subscription="mails"} 0`)
	got := s.receive(web, "mails", `{"events":5,"visible":600,"consumer":"worker-1"}`)
	if len(got) != 3 || got[0].Type != "Sent" || got[0].Attempt != 1 || got[2].Seq != 4 {
		t.Fatalf("%+v", got)
	}
	do(200, `"pulled":true,"inFlight":3`, "GET", "", "")
	do(200, `{"until":"20`, "POST", "/mails/extend", `{"tokens":`+tokens(got...)+`,"visible":1200}`)
	do(409, `"settled":1,"refused":[{"token":"nonsense","code":"invalid_token"`, "POST", "/mails/extend", `{"tokens":["nonsense","`+got[0].Token+`"],"visible":30}`)
	do(422, "invalid_request", "POST", "/mails/extend", `{"tokens":["x"],"visible":43201}`)
	do(422, "invalid_request", "POST", "/mails/extend", `{"tokens":[],"visible":30}`)
	do(404, "no_such_subscription", "POST", "/none/extend", `{"tokens":["x"],"visible":30}`)
	do(409, "earlier_unacknowledged", "POST", "/mails/acknowledge", `{"tokens":`+tokens(got[1])+`}`)
	do(409, `"settled":1,"refused":[{"token":"nonsense","code":"invalid_token"`, "POST", "/mails/acknowledge", `{"tokens":["nonsense","`+got[0].Token+`"]}`)
	do(200, `{"settled":1}`, "POST", "/mails/acknowledge", `{"tokens":`+tokens(got[0])+`}`)
	do(200, `{"settled":1}`, "POST", "/mails/reject", `{"tokens":`+tokens(got[1])+`,"reason":"nobody lives there"}`)
	do(409, `urn:onefold:error:delivery_lost`, "POST", "/mails/acknowledge", `{"tokens":`+tokens(got[2])+`}`)
	do(409, `urn:onefold:error:delivery_lost`, "POST", "/mails/extend", `{"tokens":`+tokens(got[2])+`,"visible":30}`)
	do(200, `{"events":[]}`, "POST", "/mails/receive", "")
	do(200, `"reason":"nobody lives there","attempts":1`, "GET", "/mails/parked", "")
	do(200, `"consumer":"worker-1","parked":2`, "GET", "", "")
	mustTell(s, `onefold_subscription_lag{subscription="mails"} 0`, `onefold_subscription_lag_seconds{subscription="mails"} 0`, `onefold_subscription_parked_events{subscription="mails"} 2`)
	do(200, `{"aggregates":1}`, "POST", "/mails/retry", "")
	for _, want := range got[1:] {
		again := s.receive(web, "mails", "")
		if len(again) != 1 || again[0].Seq != want.Seq {
			t.Fatalf("retried: %+v, want %+v", again, want)
		}
		do(200, `{"settled":1}`, "POST", "/mails/acknowledge", `{"tokens":`+tokens(again...)+`}`)
	}
	do(200, `"handled":3,"parked":0`, "GET", "", "")
	for _, action := range []string{"receive", "acknowledge", "reject", "stream", "extend"} {
		web.Want(403, "forbidden", "POST", subscriptions+"/mails/"+action, `{"tokens":["x"]}`, s.keys[accounts.Read]...)
	}
	s.owner.Want(200, "subscription.create", "GET", "/api/v1/audit", "")
}

// mustTell fails unless /metrics has every line.
func mustTell(s *shop, lines ...string) {
	s.Helper()
	_, told := s.Get("/metrics")
	for _, line := range lines {
		if !strings.Contains(told, "\n"+line+"\n") {
			s.Errorf("/metrics does not say %s", line)
		}
	}
}

// A consumer that waits is answered when events come, and a stream delivers more when those are
// acknowledged.
func TestWaitForEvents(t *testing.T) {
	s := newShop(t)
	s.owner.Want(201, "", "PUT", subscriptions+"/mails", `{}`)
	ctx, stop := context.WithCancel(t.Context())
	folded := make(chan error, 1)
	go func() { folded <- s.Worker.Run(ctx) }()
	defer func() {
		stop()
		<-folded
	}()
	answered := make(chan []received, 1)
	go func() { answered <- s.receive(s.Browser(), "mails", `{"wait":20}`) }()
	s.append("1", some(1))
	if got := <-answered; len(got) != 1 {
		t.Errorf("%+v", got)
	} else {
		s.owner.Want(200, "", "POST", subscriptions+"/mails/acknowledge", `{"tokens":`+tokens(got...)+`}`)
	}
	r, err := http.NewRequestWithContext(t.Context(), "POST", s.URL+subscriptions+"/mails/stream", strings.NewReader(`{"events":1}`))
	servertest.Must(t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", s.keys[accounts.Write][1])
	answer, err := http.DefaultClient.Do(r)
	servertest.Must(t, err)
	defer answer.Body.Close()
	s.append("1", some(3))
	lines := bufio.NewScanner(answer.Body)
	for seq := int64(2); seq <= 4; seq++ {
		var e received
		for e.Token == "" && lines.Scan() {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok { // or a heartbeat
				servertest.Must(t, json.Unmarshal([]byte(data), &e))
			}
		}
		if e.Seq != seq {
			t.Fatalf("%+v, want event %d", e, seq)
		}
		s.owner.Want(200, "", "POST", subscriptions+"/mails/acknowledge", `{"tokens":`+tokens(e)+`}`)
	}
}

// crowd are consumers over HTTP, with a model of what must be delivered. mu protects it.
type crowd struct {
	*shop
	db *enginetest.DB

	mu       sync.Mutex
	r        *rand.Rand
	answered map[string]map[int64]bool // by aggregate: events whose acknowledgment was sent
	old      []received                // tokens that may be late
}

func (c *crowd) random(n int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.r.IntN(n)
}

// check checks that events come after the earlier ones of their aggregates.
func (c *crowd) check(got []received) {
	c.mu.Lock()
	defer c.mu.Unlock()
	together := map[string]bool{}
	for _, e := range got {
		for seq := int64(1); seq < e.Seq; seq++ {
			if !c.answered[e.AggregateID][seq] && !together[fmt.Sprint(e.AggregateID, " ", seq)] {
				c.Errorf("event %d of %s is delivered before %d", e.Seq, e.AggregateID, seq)
			}
		}
		together[fmt.Sprint(e.AggregateID, " ", e.Seq)] = true
	}
	c.old = append(c.old, got...)
}

// settle acknowledges an event, and perhaps repeats that, or another one that may be late.
func (c *crowd) settle(web *servertest.Person, e received) {
	c.mu.Lock()
	if c.answered[e.AggregateID] == nil {
		c.answered[e.AggregateID] = map[int64]bool{}
	}
	c.answered[e.AggregateID][e.Seq] = true
	late := c.old[c.r.IntN(len(c.old))]
	known := c.answered[late.AggregateID][late.Seq]
	c.mu.Unlock()
	for range 1 + c.random(2) {
		if status, body := web.Do("POST", subscriptions+"/crowd/acknowledge", `{"tokens":`+tokens(e)+`}`, c.keys[accounts.Write]...); status != 200 && !strings.Contains(body, "delivery_lost") && !strings.Contains(body, "earlier_unacknowledged") {
			c.Errorf("acknowledge: %d %s", status, body)
		}
	}
	if known && c.random(3) == 0 {
		web.Do("POST", subscriptions+"/crowd/acknowledge", `{"tokens":`+tokens(late)+`}`, c.keys[accounts.Write]...)
	}
}

// consume handles events until enough were settled. A consumer may forget what it has received, let
// its visibility time end, or reject an event.
func (c *crowd) consume(events int) {
	web := c.Browser()
	for c.handled(web) < events && !c.Failed() {
		got := c.receive(web, "crowd", fmt.Sprintf(`{"events":%d,"visible":%d}`, 1+c.random(6), 1+c.random(20)))
		c.check(got)
		for _, e := range got {
			if c.random(12) == 0 { // it ends here
				break
			}
			if c.random(8) == 0 {
				c.db.Advance(time.Duration(c.random(15)) * time.Second)
			}
			if c.random(8) == 0 {
				web.Do("POST", subscriptions+"/crowd/reject", `{"tokens":`+tokens(e)+`,"reason":"chance"}`, c.keys[accounts.Write]...)
				break
			}
			c.settle(web, e)
		}
		if len(got) == 0 {
			c.db.Advance(time.Second)
		}
	}
}

// handled returns how many events the subscription has handled, each once.
func (c *crowd) handled(web *servertest.Person) int {
	var answer struct{ Subscriptions []struct{ Handled int } }
	servertest.Must(c.T, json.Unmarshal([]byte(web.Want(200, "crowd", "GET", subscriptions, "", c.keys[accounts.Write]...)), &answer))
	return answer.Subscriptions[0].Handled
}

// Several consumers that end, repeat and come late handle every event once, in the order of its
// aggregate.
func TestCompetingConsumers(t *testing.T) {
	seeds.Run(t, 6, func(t *testing.T, seed uint64) {
		db := enginetest.New(t, enginetest.At(time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)))
		c := &crowd{shop: furnish(servertest.On(t, db, nil)), db: db, r: rand.New(rand.NewPCG(seed, 4)), answered: map[string]map[int64]bool{}}
		c.owner.Want(201, "", "PUT", subscriptions+"/crowd", fmt.Sprintf(`{"partitions":%d,"attempts":-1,"retryDelay":0.5,"maxRetryDelay":4}`, 1+c.random(4)))
		events := 0
		for range 25 {
			n := 1 + c.random(3)
			c.append(fmt.Sprint(c.random(5)), some(n))
			events += n
		}
		servertest.Must(t, c.Worker.Drain(t.Context()))
		var consumers sync.WaitGroup
		for range 3 {
			consumers.Go(func() { c.consume(events) })
		}
		consumers.Wait()
		c.db.Advance(time.Hour)
		if got := c.receive(c.Browser(), "crowd", ""); len(got) > 0 {
			t.Errorf("at the end there is %+v", got)
		}
		if n := c.handled(c.Browser()); n != events {
			t.Errorf("%d of %d events are handled", n, events)
		}
	})
}
