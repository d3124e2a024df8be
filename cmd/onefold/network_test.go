package main

import (
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"testing"
	"time"
)

// network is a proxy between processes and their database that behaves like real networks and
// services: it loses requests and responses, delays them, and throttles.
type network struct {
	*httptest.Server
	to *httputil.ReverseProxy

	mu      sync.Mutex
	random  *rand.Rand
	trouble trouble
	did     map[string]int
}

// trouble is how many of a thousand requests are disturbed.
type trouble struct {
	lost      int // lost before they arrive
	deaf      int // executed, but the response is lost
	slow      int // delayed by up to slowest
	throttled int // throttled
}

const slowest = 300 * time.Millisecond

func newNetwork(t *testing.T, seed uint64, to string) *network {
	t.Helper()
	target, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	n := &network{random: rand.New(rand.NewPCG(seed, 7)), did: map[string]int{}}
	n.to = &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.Out.URL.Scheme, r.Out.URL.Host = target.Scheme, target.Host }, // the Host header is signed, so it stays
		Transport: &http.Transport{MaxIdleConnsPerHost: 256},
		ErrorLog:  log.New(io.Discard, "", 0), // the errors are intended
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) {
			panic(http.ErrAbortHandler) // the database is gone: drop the connection
		},
	}
	n.Server = httptest.NewServer(n)
	t.Cleanup(n.Close)
	return n
}

// set changes the disturbances.
func (n *network) set(t trouble) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.trouble = t
}

// fate draws the disturbance of a request, "" for none, and its delay.
func (n *network) fate() (string, time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	at := n.random.IntN(1000)
	for _, c := range []struct {
		fate  string
		share int
	}{{"lost", n.trouble.lost}, {"deaf", n.trouble.deaf}, {"slow", n.trouble.slow}, {"throttled", n.trouble.throttled}} {
		if at -= c.share; at < 0 {
			n.did[c.fate]++
			return c.fate, time.Duration(n.random.Int64N(int64(slowest)))
		}
	}
	return "", 0
}

// ServeHTTP forwards a request, or disturbs it.
func (n *network) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	fate, wait := n.fate()
	switch fate {
	case "lost":
		panic(http.ErrAbortHandler)
	case "deaf":
		n.to.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	case "slow":
		time.Sleep(wait) // a slow network is the input of this test
	case "throttled":
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"__type":"com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException","message":"The level of configured provisioned throughput for the table was exceeded."}`) // the client may be gone
		return
	}
	n.to.ServeHTTP(w, r)
}
