package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/onefold/onefold/cmd/internal/clitest"
	"github.com/onefold/onefold/server/accounts"
)

// appended is the response to an append.
type appended struct {
	First, Version int64
	Again          bool
}

// Appends go through two servers, behind a network that loses some requests and responses. An
// append without a response is sent again, to either server, with the same commit ID. Each happens
// once; streams have no gaps; the feed has them all.
func TestEventsOfManyServers(t *testing.T) {
	t.Parallel()
	clitest.NeedProcesses(t)
	const writers, appends, aggregates = 4, 25, 3
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	c := newCluster(t, seed, 2, 3)
	c.start()
	key := c.eventKey()
	c.network.set(trouble{lost: 100, deaf: 100, slow: 20, throttled: 20})
	var mu sync.Mutex
	versions := map[string]map[int64]string{} // by aggregate: the append of each version
	events, resent := 0, 0
	var wait sync.WaitGroup
	for w := range writers {
		random := rand.New(rand.NewPCG(seed, uint64(w)))
		wait.Go(func() {
			for n := range appends {
				id, commit, size := fmt.Sprint("a", random.IntN(aggregates)), fmt.Sprintf("%d-%d", w, n), 1+random.IntN(3)
				done, tries := c.append(random, key, id, commit, size)
				mu.Lock()
				events, resent = events+size, resent+tries-1
				if versions[id] == nil {
					versions[id] = map[int64]string{}
				}
				for v := done.First; v <= done.Version; v++ {
					if other := versions[id][v]; other != "" {
						t.Errorf("version %d of %s is of the appends %s and %s", v, id, other, commit)
					}
					versions[id][v] = commit
				}
				if done.Version-done.First+1 != int64(size) {
					t.Errorf("append %s of %d events is versions %d to %d", commit, size, done.First, done.Version)
				}
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	c.network.set(trouble{})
	c.stop()
	for id, of := range versions {
		for v := int64(1); v <= int64(len(of)); v++ {
			if of[v] == "" {
				t.Errorf("%s has no version %d", id, v)
			}
		}
		if read := onefold(t, c.globals().flags("events", "read", "order/"+id, "--json")...); strings.Count(read, `"seq":`) != len(of) {
			t.Errorf("%s has %d events, appended were %d", id, strings.Count(read, `"seq":`), len(of))
		}
	}
	t.Logf("%d appends of %d events, %d sent again, %v", writers*appends, events, resent, c.network.did)
	t.Logf("fsck: %s", onefold(t, c.globals().flags("events", "fsck")...))
}

// eventKey creates a key that allows appends.
func (c *cluster) eventKey() (token string) {
	err := c.globals().withStore(c.Context(), c.Output(), tuning{}, func(st *store) (err error) {
		_, token, err = st.accounts.AddKey(c.Context(), accounts.NewKey{Site: accounts.EventStore, Scope: accounts.Ingest})
		return err
	})
	if err != nil {
		c.Fatal(err)
	}
	return token
}

// append sends an append until there is a response.
func (c *cluster) append(random *rand.Rand, key, id, commit string, size int) (done appended, tries int) {
	body := fmt.Sprintf(`{"commitId":%q,"events":[%s]}`, commit, strings.TrimSuffix(strings.Repeat(`{"type":"Counted","data":{}},`, size), ","))
	for tries = 1; c.Context().Err() == nil; tries++ {
		r, err := http.NewRequestWithContext(c.Context(), http.MethodPost, c.anyServer(random)+"/api/v1/events/aggregates/order/"+id+"/events", strings.NewReader(body))
		if err != nil {
			c.Error(err)
			return done, tries
		}
		r.Header.Set("Authorization", "Bearer "+key)
		r.Header.Set("Content-Type", "application/json")
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			continue
		}
		text, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		switch {
		case err != nil, answer.StatusCode >= http.StatusInternalServerError, answer.StatusCode == http.StatusTooManyRequests:
			time.Sleep(time.Duration(random.IntN(50)) * time.Millisecond) // as clients do
		case answer.StatusCode == http.StatusCreated, answer.StatusCode == http.StatusOK:
			if err := json.Unmarshal(text, &done); err != nil {
				c.Errorf("%s: %v", text, err)
			}
			return done, tries
		default:
			c.Errorf("append: %s: %s", answer.Status, text)
			return done, tries
		}
	}
	return done, tries
}
