package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/goals"
	"github.com/onefold/onefold/cmd/internal/clitest"
)

// soakFor is how long TestSoak sends events, unless ONEFOLD_SOAK is set, such as to 5m. With
// ONEFOLD_SOAK_EVENTS, such as 1000000, it sends that many instead. After each kill the server
// starts with the next delay of soakDelays, or of ONEFOLD_SOAK_DELAYS.
const (
	soakFor    = 3 * time.Second
	soakLeast  = 500 // minimum number of events: on a busy machine, creating the site alone takes longer than soakFor
	soakDelays = "0s,1s"
)

// soaked is what the clients of a soak have sent.
type soaked struct {
	mu      sync.Mutex
	random  *rand.Rand
	delays  []string                   // fold delays of the server's lives, in turn
	most    int                        // number of events to send, if above 0
	sent    map[ulid.ULID]*soakedEvent // all events sent
	open    []*soakRequest             // not acknowledged
	done    []*soakRequest             // some of the acknowledged requests
	repeats int                        // requests sent again although they were acknowledged
	triples int                        // requests sent three times at once
	hangups int                        // attempts that a client gave up early
	spooled bool                       // servers spool events while the store is unreachable
	queued  int                        // spooled events, some more than once
	cutOff  int                        // requests without a response because of a kill
}

// soakedEvent is what a client knows of an event.
type soakedEvent struct {
	page   int
	plan   int            // of a purchase; -1: a page view
	stored map[string]int // number of responses, per server, that it was stored by that request
}

// soakRequest is a request that may have to be sent again.
type soakRequest struct {
	address, body string
	ids           []ulid.ULID
}

const soakPages, soakPlans = 300, 3

// next returns a client's next request: sometimes an acknowledged one again, otherwise new events
// of the last two days.
func (s *soaked) next() *soakRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	if full := s.full(); len(s.done) > 0 && (full || s.random.IntN(8) == 0) {
		s.repeats++
		return s.done[s.random.IntN(len(s.done))]
	}
	r := &soakRequest{address: fmt.Sprintf("198.51.%d.%d", s.random.IntN(20), s.random.IntN(250))}
	n := 1 + s.random.IntN(40)
	if s.random.IntN(10) == 0 || s.most > 0 && s.random.IntN(2) == 0 {
		n *= 10
	}
	if s.most > 0 {
		n = max(1, min(n, s.most-len(s.sent)))
	}
	var list []string
	start := time.Now().Add(-time.Duration(s.random.Int64N(int64(48 * time.Hour))))
	for i := range n {
		id := ulid.MustNew(ulid.Timestamp(start.Add(-time.Duration(i)*time.Duration(s.random.IntN(60_000))*time.Millisecond)), ulid.DefaultEntropy())
		e := &soakedEvent{page: s.random.IntN(soakPages), plan: -1}
		more := ""
		if s.random.IntN(5) == 0 {
			e.plan = s.random.IntN(soakPlans)
			more = fmt.Sprintf(`,"name":"buy","revenue":"0.10","props":{"plan":"p%d"}`, e.plan)
		}
		list = append(list, fmt.Sprintf(`{"id":%q,"url":"https://shop.example/p%d?utm_source=u%d","referrer":"https://r%d.example/","language":"en","screen":"800x600"%s}`,
			id, e.page, s.random.IntN(5), s.random.IntN(20), more))
		s.sent[id] = e
		r.ids = append(r.ids, id)
	}
	r.body = `{"site":"s","events":[` + strings.Join(list, ",") + `]}`
	return r
}

// full reports whether enough was sent. The caller holds the lock.
func (s *soaked) full() bool { return s.most > 0 && len(s.sent) >= s.most }

// told records the outcomes in a response. A server reports at most once that it stored an event,
// whatever happened to it in between. It need not know of an event stored by another server of the
// same table.
func (s *soaked) told(t *testing.T, server string, r *soakRequest, outcomes []analytics.Outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, o := range outcomes {
		e := s.sent[r.ids[i]]
		switch {
		case o.EventID != r.ids[i].String():
			t.Errorf("outcome %d is of event %s, sent was %s", i, o.EventID, r.ids[i])
		case o.Status == analytics.Stored:
			if e.stored == nil {
				e.stored = map[string]int{}
			}
			if e.stored[server]++; e.stored[server] > 1 {
				t.Errorf("event %s was stored by %d requests to %s", o.EventID, e.stored[server], server)
			}
		case o.Status == analytics.Queued && s.spooled:
			s.queued++
		case o.Status != analytics.Duplicate:
			t.Errorf("event %s was %s: %s", o.EventID, o.Status, o.Detail)
		}
	}
	if len(s.done) < 1000 {
		s.done = append(s.done, r)
		return
	}
	s.done[s.random.IntN(len(s.done))] = r
}

// take returns the requests without a response, to be sent again.
func (s *soaked) take() []*soakRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	open := s.open
	s.open = nil
	return open
}

// luck draws how a request is sent: how many times at once, and after how long the client hangs up;
// 0: never.
func (s *soaked) luck() (times int, patience time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	times = 1
	if s.random.IntN(10) == 0 {
		times = 3
		s.triples++
	}
	if s.random.IntN(20) == 0 {
		patience = time.Duration(1 + s.random.Int64N(int64(20*time.Millisecond)))
	}
	return times, patience
}

// deliver sends a request until there is a response. If ctx ends before, the request must be sent
// again later.
func (s *soaked) deliver(t *testing.T, ctx context.Context, server *served, r *soakRequest) {
	for ctx.Err() == nil {
		if s.try(t, ctx, server, r) {
			return
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cutOff++
	s.open = append(s.open, r)
}

// try sends a request once, or three times at once, and reports whether there was a response.
func (s *soaked) try(t *testing.T, ctx context.Context, server *served, r *soakRequest) bool {
	times, patience := s.luck()
	if patience > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, patience)
		defer cancel()
	}
	var wait sync.WaitGroup
	var answered atomic.Bool
	for range times {
		wait.Go(func() {
			if outcomes := server.post(t, ctx, r); outcomes != nil {
				s.told(t, "the server", r, outcomes)
				answered.Store(true)
			}
		})
	}
	wait.Wait()
	if patience > 0 && !answered.Load() {
		s.mu.Lock()
		s.hangups++
		s.mu.Unlock()
	}
	return answered.Load()
}

// post sends a request and returns the outcomes of its events, or nil without a response. Any other
// response fails the test.
func (s *served) post(t *testing.T, ctx context.Context, r *soakRequest) []analytics.Outcome {
	return r.post(t, ctx, s.url)
}

func (r *soakRequest) post(t *testing.T, ctx context.Context, url string) []analytics.Outcome {
	ask, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/api/events", strings.NewReader(r.body))
	if err != nil {
		t.Error(err)
		return nil
	}
	ask.Header.Set("Content-Type", "application/json")
	ask.Header.Set("User-Agent", browser)
	ask.Header.Set("X-Forwarded-For", r.address)
	answer, err := http.DefaultClient.Do(ask)
	if err != nil {
		return nil
	}
	defer answer.Body.Close()
	var told struct{ Outcomes []analytics.Outcome }
	if err := json.NewDecoder(answer.Body).Decode(&told); err != nil {
		return nil
	}
	if answer.StatusCode >= http.StatusInternalServerError || answer.StatusCode == http.StatusTooManyRequests {
		return nil
	}
	if answer.StatusCode != http.StatusAccepted || len(told.Outcomes) != len(r.ids) {
		t.Errorf("answer %s with %d outcomes for %d events", answer.Status, len(told.Outcomes), len(r.ids))
		return nil
	}
	return told.Outcomes
}

// A server is killed again and again, while clients hang up, send the same request three times at
// once, and repeat unacknowledged requests and some acknowledged ones. In the end every event
// counts once: raw, in each hour, day and month, and in the values of every dimension.
func TestSoak(t *testing.T) {
	t.Parallel()
	clitest.NeedProcesses(t)
	sent, more := newSoak(t)
	data := filepath.Join(t.TempDir(), "data")
	soakSite(t, &globals{Data: data})
	random := rand.New(rand.NewPCG(sent.random.Uint64(), 0))
	kills, longest := 0, 1500*time.Millisecond
	if sent.most > 0 {
		longest = 8 * time.Second // with fewer restarts, since a million events take long enough
	}
	for ; more(); kills++ {
		sent.live(t, sent.server(t, data, kills), 100*time.Millisecond+time.Duration(random.Int64N(int64(longest))))
	}
	s := sent.server(t, data, kills)
	for _, r := range sent.take() {
		outcomes := s.post(t, t.Context(), r)
		if outcomes == nil {
			t.Fatal("a request was refused when it was sent again")
		}
		sent.told(t, "the server", r, outcomes)
	}
	if err := s.end(t, syscall.SIGTERM); err != nil {
		t.Fatalf("a server that was asked to stop ended with %v", err)
	}
	t.Logf("%d events, %d kills; %d requests cut off, %d given up early, %d sent again after an answer, %d three times at once",
		len(sent.sent), kills, sent.cutOff, sent.hangups, sent.repeats, sent.triples)
	sent.check(t, &globals{Data: data})
}

// newSoak reads the environment. more reports whether there is more to send.
func newSoak(t *testing.T) (s *soaked, more func() bool) {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	delays := strings.Split(cmp.Or(os.Getenv("ONEFOLD_SOAK_DELAYS"), soakDelays), ",")
	s = &soaked{random: rand.New(rand.NewPCG(seed, 1)), delays: delays, sent: map[ulid.ULID]*soakedEvent{}}
	var err error
	if text := os.Getenv("ONEFOLD_SOAK_EVENTS"); text != "" {
		if s.most, err = strconv.Atoi(text); err != nil || s.most < 1 {
			t.Fatalf("ONEFOLD_SOAK_EVENTS=%s: want how many events to send", text)
		}
		return s, func() bool { return !s.full() }
	}
	span := soakFor
	if text := os.Getenv("ONEFOLD_SOAK"); text != "" {
		if span, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	until := time.Now().Add(span)
	return s, func() bool { return time.Now().Before(until) || s.count() < soakLeast }
}

// count returns the number of events sent.
func (s *soaked) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.sent)
}

// soakSite creates a site with a property and a goal.
func soakSite(t *testing.T, g *globals) {
	t.Helper()
	err := g.withStore(t.Context(), t.Output(), tuning{}, func(st *store) error {
		_, err := analytics.CreateSite(t.Context(), st.table, analytics.NewSite{
			ID: "s", Shards: 4, TimeZone: "Europe/Berlin", Settings: analytics.Settings{CustomProperties: []string{"plan"}},
		})
		if err != nil {
			return err
		}
		_, err = goals.Create(t.Context(), st.table, goals.Goal{
			GoalKey: analytics.GoalKey{SiteID: "s", GoalID: "bought"}, Name: "Bought", Event: "buy", Counting: analytics.EveryTime,
		})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// live lets clients send, first the unacknowledged requests, until the server is killed.
func (s *soaked) live(t *testing.T, server *served, life time.Duration) {
	t.Helper()
	const clients = 6
	again := s.take()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var wait sync.WaitGroup
	for client := range clients {
		wait.Go(func() {
			for i := client; i < len(again); i += clients {
				s.deliver(t, ctx, server, again[i])
			}
			for ctx.Err() == nil {
				s.deliver(t, ctx, server, s.next())
			}
		})
	}
	time.Sleep(life) // the time of the kill is the input of this test
	if err := server.end(t, syscall.SIGKILL); err == nil {
		t.Fatal("a killed server ended well")
	}
	cancel()
	wait.Wait()
}

// server starts the server for its next life.
func (s *soaked) server(t *testing.T, data string, kills int) *served {
	return startServer(t, "--data", data, "serve", "--addr", "127.0.0.1:0", "--token", testToken, "--trust-proxy",
		"--event-rate", "1e9", "--site-rate", "1e8", "--fold-delay", s.delays[kills%len(s.delays)])
}
