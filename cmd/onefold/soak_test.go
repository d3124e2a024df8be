package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/onefold/onefold/analytics"
)

// soakFor is how long TestSoak sends events; ONEFOLD_SOAK says otherwise, such as 5m.
const soakFor = 3 * time.Second

// soaked is what the clients of a soak have sent.
type soaked struct {
	mu      sync.Mutex
	random  *rand.Rand
	sent    map[string]*soakRequest // by the id of each of its events
	open    []*soakRequest          // not acknowledged
	done    []*soakRequest          // acknowledged, some of them
	repeats int
}

// soakRequest is a request that may have to be sent again.
type soakRequest struct {
	address, body string
	views, events int
}

// next is what a client sends: something that was acknowledged already, sometimes, or new events of the last two days.
func (s *soaked) next() *soakRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.done) > 0 && s.random.IntN(8) == 0 {
		s.repeats++
		return s.done[s.random.IntN(len(s.done))]
	}
	r := &soakRequest{address: fmt.Sprintf("198.51.%d.%d", s.random.IntN(4), s.random.IntN(250))}
	var list []string
	start := time.Now().Add(-time.Duration(s.random.Int64N(int64(48 * time.Hour))))
	for i := range 1 + s.random.IntN(40) {
		id := ulid.MustNew(ulid.Timestamp(start.Add(-time.Duration(i)*time.Duration(s.random.IntN(60_000))*time.Millisecond)), ulid.DefaultEntropy()).String()
		more := ""
		if s.random.IntN(5) == 0 {
			more = `,"name":"buy","revenue":"0.10"`
			r.events++
		} else {
			r.views++
		}
		list = append(list, fmt.Sprintf(`{"id":%q,"url":"/p%d?utm_source=u%d","referrer":"https://r%d.example/"%s}`, id, s.random.IntN(300), s.random.IntN(5), s.random.IntN(20), more))
		s.sent[id] = r
	}
	r.body = `{"site":"s","events":[` + strings.Join(list, ",") + `]}`
	return r
}

// told notes whether a request was acknowledged.
func (s *soaked) told(r *soakRequest, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !ok:
		s.open = append(s.open, r)
	case len(s.done) < 1000:
		s.done = append(s.done, r)
	default:
		s.done[s.random.IntN(len(s.done))] = r
	}
}

// take returns the requests that were not acknowledged, to be sent again.
func (s *soaked) take() []*soakRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	open := s.open
	s.open = nil
	return open
}

// post sends a request and reports whether all of it was acknowledged. What is answered otherwise fails the test.
func (s *served) post(t *testing.T, ctx context.Context, r *soakRequest) bool {
	ask, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+"/api/events", strings.NewReader(r.body))
	if err != nil {
		t.Error(err)
		return false
	}
	ask.Header.Set("Content-Type", "application/json")
	ask.Header.Set("User-Agent", browser)
	ask.Header.Set("X-Forwarded-For", r.address)
	answer, err := http.DefaultClient.Do(ask)
	if err != nil {
		return false
	}
	defer answer.Body.Close()
	var told struct{ Outcomes []analytics.Outcome }
	if err := json.NewDecoder(answer.Body).Decode(&told); err != nil {
		return false
	}
	if answer.StatusCode >= http.StatusInternalServerError {
		return false
	}
	if answer.StatusCode != http.StatusAccepted || len(told.Outcomes) != r.views+r.events {
		t.Errorf("answer %s with %d outcomes for %d events", answer.Status, len(told.Outcomes), r.views+r.events)
		return false
	}
	for _, o := range told.Outcomes {
		if o.Status != analytics.Stored && o.Status != analytics.Duplicate {
			t.Errorf("event %s was %s: %s", o.EventID, o.Status, o.Detail)
		}
	}
	return true
}

// A server that is killed again and again, whose clients send again what had no answer and some of what had one, ends
// with every event once: raw, in each hour, day and month, and in the values of every dimension.
func TestSoak(t *testing.T) {
	span := soakFor
	if text := os.Getenv("ONEFOLD_SOAK"); text != "" {
		var err error
		if span, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	data := filepath.Join(t.TempDir(), "data")
	onefold(t, "--data", data, "site", "create", "s", "--timezone", "Europe/Berlin")
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	sent := &soaked{random: rand.New(rand.NewPCG(seed, 1)), sent: map[string]*soakRequest{}}
	kills := 0
	for until := time.Now().Add(span); time.Now().Before(until); kills++ {
		life := time.Duration(100+random.IntN(1500)) * time.Millisecond
		sent.live(t, soakServer(t, data), life)
	}
	s := soakServer(t, data)
	for _, r := range sent.take() {
		if !s.post(t, t.Context(), r) {
			t.Fatal("a request was refused when it was sent again")
		}
	}
	if err := s.end(t, syscall.SIGTERM); err != nil {
		t.Fatalf("a server that was asked to stop ended with %v", err)
	}
	t.Logf("%d events, %d kills, %d requests repeated", len(sent.sent), kills, sent.repeats)
	sent.check(t, data)
}

// live lets clients send, first what was not acknowledged before, until the server is killed.
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
				s.told(again[i], server.post(t, ctx, again[i]))
			}
			for ok := true; ok && ctx.Err() == nil; {
				r := s.next()
				ok = server.post(t, ctx, r)
				s.told(r, ok)
			}
		})
	}
	time.Sleep(life) // the moment of the kill is the input of this test
	if err := server.end(t, syscall.SIGKILL); err == nil {
		t.Fatal("a killed server ended well")
	}
	cancel()
	wait.Wait()
}

func soakServer(t *testing.T, data string) *served {
	return startServer(t, "--data", data, "serve", "--addr", "127.0.0.1:0", "--token", testToken, "--trust-proxy", "--event-rate", "1e9", "--site-rate", "1e8")
}

// check compares what is stored and derived with what was sent.
func (s *soaked) check(t *testing.T, data string) {
	t.Helper()
	raw := map[string]int{}
	g := &globals{Data: data}
	err := g.withStore(t.Context(), t.Output(), tuning{existing: true}, func(st *store) error {
		site, err := analytics.GetSite(t.Context(), st.table, "s")
		if err != nil {
			return err
		}
		now := time.Now()
		for e, err := range analytics.EventsByTime.All(t.Context(), st.table, analytics.EventsBetween(&site, now.AddDate(0, 0, -4), now, "")) {
			if err != nil {
				return err
			}
			raw[e.EventID]++
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var views int64
	seen := map[*soakRequest]bool{}
	for id, r := range s.sent {
		if raw[id] != 1 {
			t.Errorf("event %s is stored %d times", id, raw[id])
		}
		if !seen[r] {
			seen[r] = true
			views += int64(r.views)
		}
	}
	if len(raw) != len(s.sent) {
		t.Errorf("%d raw events, %d were sent", len(raw), len(s.sent))
	}
	s.checkDerived(t, data, views)
	t.Logf("verify: %s", onefold(t, "--data", data, "verify", "--site", "s"))
}

// checkDerived adds up statistics by every width of a bucket and every dimension.
func (s *soaked) checkDerived(t *testing.T, data string, views int64) {
	t.Helper()
	for _, period := range []string{"hour", "day", "month"} {
		for _, by := range []string{"page", "entry_page", "exit_page", "referrer", "source", "channel", "utm_source", "country", "browser", "os", "device", "language"} {
			r := fromJSON[reportJSON](t, onefold(t, "--data", data, "report", "--site", "s", "--period", period, "--by", by, "--limit", "0", "--json"))
			var buckets, top int64
			for _, b := range r.Buckets {
				buckets += b.PageViews
			}
			for _, row := range r.Top {
				top += row.PageViews
			}
			if r.Totals.PageViews != views || buckets != views || top != views {
				t.Errorf("by %s and %s: %d page views in total, %d in buckets, %d in values; %d were sent", period, by, r.Totals.PageViews, buckets, top, views)
			}
		}
	}
}
