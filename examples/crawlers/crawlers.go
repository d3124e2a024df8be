// Package crawlers counts requests of AI crawlers in onefold. AI crawlers run no scripts, so only the
// web server sees their requests. Copy this file into a Go server. For Node.js and edge functions,
// copy crawlers.mjs.
package crawlers

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"time"
)

// pattern matches the user agents of crawlers and agents of language models.
var pattern = regexp.MustCompile(`GPTBot|ChatGPT-User|OAI-SearchBot|ClaudeBot|Claude-User|Claude-SearchBot|PerplexityBot|Perplexity-User|Bytespider|CCBot|meta-externalagent|MistralAI-User|DuckAssistBot`)

// Limits of a Counter.
const (
	maxWaiting = 1000             // requests; further ones are not counted
	maxURL     = 4096             // bytes, as onefold accepts; longer ones are not counted
	maxAgent   = 2048             // likewise
	maxBatch   = 100              // events of a request to onefold
	timeout    = 10 * time.Second // of a request to onefold
)

// Options configure a Counter. All fields but Failed are required.
type Options struct {
	Server string      // URL of onefold, such as https://stats.example.com
	Site   string      // site ID
	Key    string      // API key with scope ingest
	Failed func(error) // called with errors of sending; the events of that request are lost
}

// A Counter reports requests of crawlers to onefold in the background. Call Close when the server has
// stopped.
type Counter struct {
	o       Options
	waiting chan event
	done    chan struct{}
}

type event struct {
	URL     string  `json:"url"`
	Visitor visitor `json:"visitor"`
}

type visitor struct {
	Address   string `json:"address"`
	UserAgent string `json:"userAgent"`
}

// New returns a Counter.
func New(o Options) *Counter {
	c := &Counter{o: o, waiting: make(chan event, maxWaiting), done: make(chan struct{})}
	go c.run()
	return c
}

// Wrap returns a handler that calls next and counts requests of crawlers. It never waits.
func (c *Counter) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if agent := r.UserAgent(); r.Method == http.MethodGet && pattern.MatchString(agent) {
			host, _, err := net.SplitHostPort(r.RemoteAddr)
			if err != nil {
				host = r.RemoteAddr
			}
			c.add(event{"https://" + r.Host + r.URL.EscapedPath(), visitor{host, agent}})
		}
		next.ServeHTTP(w, r)
	})
}

func (c *Counter) add(e event) {
	if len(e.URL) > maxURL || len(e.Visitor.UserAgent) > maxAgent {
		return
	}
	select {
	case c.waiting <- e:
	default: // onefold is slow or unavailable; the site must not wait
	}
}

// Close sends the waiting events. A wrapped handler must not be called after it.
func (c *Counter) Close() {
	close(c.waiting)
	<-c.done
}

func (c *Counter) run() {
	defer close(c.done)
	for first := range c.waiting {
		batch := []event{first}
		for len(batch) < min(maxBatch, len(c.waiting)+1) {
			batch = append(batch, <-c.waiting)
		}
		if err := c.send(batch); err != nil && c.o.Failed != nil {
			c.o.Failed(err)
		}
	}
}

func (c *Counter) send(batch []event) error {
	body, err := json.Marshal(map[string]any{"site": c.o.Site, "events": batch})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.o.Server+"/api/events", bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+c.o.Key)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close() //nolint:errcheck // nothing of it is read
	if answer.StatusCode != http.StatusAccepted {
		return fmt.Errorf("onefold: %s", answer.Status)
	}
	return nil
}
