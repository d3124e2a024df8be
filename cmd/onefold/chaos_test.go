package main

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/onefold/onefold/cmd/internal/clitest"
	"github.com/onefold/onefold/cmd/internal/products"
	"github.com/onefold/onefold/fold/lease"
	"github.com/onefold/onefold/fold/streamsource"
)

// chaosEvents is the number of events of TestChaos, unless ONEFOLD_SOAK_EVENTS is set.
const chaosEvents = 6_000

// chaos disturbs a cluster while clients send.
type chaos struct {
	*cluster
	random                         *rand.Rand
	kills, pauses, thefts, weather int
}

// Two servers and three workers on one table. Processes are killed, and paused for longer than a
// lease; leases are stolen from live owners; the network loses and delays requests and responses;
// the store throttles; shards end every few hundred records. In the end every event sent counts
// once, everywhere.
func TestChaos(t *testing.T) {
	t.Parallel()
	clitest.NeedProcesses(t)
	sent, more := newSoak(t)
	if sent.most == 0 {
		sent.most = chaosEvents
		more = func() bool { return !sent.full() }
	}
	sent.spooled = true
	c := &chaos{cluster: newCluster(t, sent.random.Uint64(), 2, 3), random: rand.New(rand.NewPCG(sent.random.Uint64(), 3))}
	soakSite(t, c.globals())
	c.start()
	ctx, cancel := context.WithCancel(t.Context())
	var clients sync.WaitGroup
	var requests, unanswered atomic.Int64
	for range 6 {
		random := rand.New(rand.NewPCG(sent.random.Uint64(), 4))
		clients.Go(func() {
			for more() && ctx.Err() == nil {
				c.deliver(ctx, sent, random, &requests, &unanswered)
			}
		})
	}
	done := make(chan struct{})
	go func() { clients.Wait(); close(done) }()
	c.rage(done)
	cancel()
	c.settle()
	t.Logf("%d events in %d requests, %d of which had no answer; %d kills, %d pauses, %d stolen leases, %d changes of the weather, %v; %d times an event was kept while the store was away",
		len(sent.sent), requests.Load(), unanswered.Load(), c.kills, c.pauses, c.thefts, c.weather, c.network.did, sent.queued)
	sent.check(t, c.globals())
}

// deliver sends a request to any server until there is a response, as a client with a queue does.
func (c *chaos) deliver(ctx context.Context, sent *soaked, random *rand.Rand, requests, unanswered *atomic.Int64) {
	for r := sent.next(); ctx.Err() == nil; {
		requests.Add(1)
		if url := c.anyServer(random); url != "" {
			if outcomes := r.post(c.T, ctx, url); outcomes != nil {
				sent.told(c.T, url, r, outcomes)
				return
			}
		}
		unanswered.Add(1)
		time.Sleep(time.Duration(random.IntN(50)) * time.Millisecond) // as clients do
	}
}

// rage disturbs the cluster until done.
func (c *chaos) rage(done <-chan struct{}) {
	var mending sync.WaitGroup
	defer mending.Wait()
	for {
		select {
		case <-done:
			return
		case <-c.Context().Done():
			return
		case <-time.After(time.Duration(50+c.random.IntN(500)) * time.Millisecond): // the random times are the input of this test
		}
		switch c.random.IntN(8) {
		case 0, 1:
			c.kills++
			m := c.pick(c.members())
			_ = m.end(syscall.SIGKILL) // that it was killed
			m.start(c.T)
		case 2, 3:
			c.pauses++
			m, span := c.pick(c.workers), time.Duration(c.random.Int64N(int64(6*time.Second))) // a lease is 3 s
			m.signal(syscall.SIGSTOP)
			mending.Go(func() { time.Sleep(span); m.signal(syscall.SIGCONT) })
		case 4, 5:
			c.steal()
		default:
			c.weather++
			c.network.set([]trouble{{}, {lost: 20, deaf: 20}, {slow: 100}, {throttled: 100}, {lost: 5, deaf: 5, slow: 20, throttled: 20}, {lost: 300, deaf: 100}}[c.random.IntN(6)])
		}
	}
}

func (c *chaos) pick(from []*member) *member { return from[c.random.IntN(len(from))] }

// steal gives a lease to an owner that does nothing with it.
func (c *chaos) steal() {
	err := c.globals().withStore(c.Context(), c.Output(), tuning{existing: true}, func(st *store) error {
		d, err := st.API.DescribeTable(c.Context(), &dynamodb.DescribeTableInput{TableName: &st.Table})
		if err != nil {
			return err
		}
		shards, err := streamsource.New(st.Streams, *d.Table.LatestStreamArn).Shards(c.Context())
		if err != nil {
			return err
		}
		key := lease.Key{Group: products.Group, Shard: shards[c.random.IntN(len(shards))].ID}
		held, err := lease.Leases.Get(c.Context(), st.table, key)
		if err != nil {
			return nil // it has no owner
		}
		held.Owner, held.Turn, held.For, held.At = "thief", held.Turn+1, time.Second, time.Now()
		c.thefts++
		return lease.Leases.Put(c.Context(), st.table, &held)
	})
	if err != nil {
		c.Errorf("steal a lease: %v", err)
	}
}

// settle stops all disturbances, and ends all processes once they have finished their work.
func (c *chaos) settle() {
	c.network.set(trouble{})
	for _, m := range c.workers {
		m.signal(syscall.SIGCONT)
	}
	c.ready()
	for _, m := range c.servers {
		c.drained(m)
	}
	c.stop()
}

// drained waits until a server has stored its whole spool.
func (c *chaos) drained(m *member) {
	for c.Context().Err() == nil {
		var is struct{ Spool struct{ Records int } }
		answer, err := http.Get(*m.url.Load() + "/readyz")
		if err == nil {
			err = json.NewDecoder(answer.Body).Decode(&is)
			answer.Body.Close()
		}
		if err != nil {
			c.Fatalf("%s: %v", m.name, err)
		}
		if is.Spool.Records == 0 {
			return
		}
		time.Sleep(50 * time.Millisecond) // another process
	}
}
