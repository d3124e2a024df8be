package server_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/onefold/onefold/server/servertest"
)

// limits serves the pages of e2e/tracker_limits.mjs.
type limits struct {
	*servertest.Server
	release chan struct{} // closed when the held script may load

	mu       sync.Mutex
	refusals int      // of /away so far
	taken    []string // names of the events of /away, in the order in which they were accepted
	arrived  chan struct{}
}

// refusedBefore is how often an event of /away fails before it is accepted.
const refusedBefore = 3

// limitedEvents are the expected events of the pages.
var limitedEvents = []string{
	"view /held", "engagement /held",
	"view /rendered", "engagement /rendered", "view /rendered/next", "engagement /rendered/next",
	"view /frames", "engagement /frames", "view /framed/counted", "engagement /framed/counted",
	"view /redirected/there", "engagement /redirected/there",
	"view /away", "first /away", "second /away", "engagement /away",
}

func newLimits(t *testing.T) (l *limits, pages *httptest.Server) {
	t.Helper()
	l = &limits{Server: servertest.New(t, nil), release: make(chan struct{}), arrived: make(chan struct{}, 1)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /", l.page)
	mux.HandleFunc("GET /js/{name}", l.script)
	mux.HandleFunc("GET /release", func(http.ResponseWriter, *http.Request) { close(l.release) })
	mux.HandleFunc("POST /event", l.event)
	mux.HandleFunc("POST /away/event", l.away)
	mux.HandleFunc("GET /delivered", func(w http.ResponseWriter, _ *http.Request) {
		l.mu.Lock()
		defer l.mu.Unlock()
		if len(l.taken) < 3 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	mux.HandleFunc("GET /settled", l.settled)
	pages = httptest.NewServer(mux)
	t.Cleanup(pages.Close)
	return l, pages
}

func (l *limits) page(w http.ResponseWriter, r *http.Request) {
	src, attributes, body := "/js/onefold.js", `data-api="/event"`, ""
	switch r.URL.Path {
	case "/held":
		src = "/js/held.js"
	case "/frames":
		body = `<iframe src="/framed"></iframe><iframe src="/framed"></iframe><iframe src="/framed/counted"></iframe>`
	case "/framed/counted":
		attributes += " data-frames"
	case "/redirected":
		body = `<script>const wait = () => window.onefold?.v ? history.replaceState(null, '', '/redirected/there') : setTimeout(wait); wait()</script>`
	case "/away":
		attributes = `data-api="/away/event"`
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	fmt.Fprintf(w, `<!doctype html><html lang="en"><title>-</title><link rel="icon" href="data:,"><script async src="%s" data-site="blog" %s></script><body>%s`, src, attributes, body)
}

// script serves the tracker, the held one once it is released.
func (l *limits) script(w http.ResponseWriter, r *http.Request) {
	if r.PathValue("name") == "held.js" {
		select {
		case <-l.release:
		case <-r.Context().Done():
			return
		}
	}
	_, text := l.Get("/js/onefold.js")
	w.Header().Set("Content-Type", "text/javascript")
	if _, err := io.WriteString(w, text); err != nil {
		l.Error(err)
	}
}

// event forwards an event.
func (l *limits) event(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the page is gone
	}
	status, answer := l.Post("/api/event", string(body))
	w.WriteHeader(status)
	if _, err := io.WriteString(w, answer); err != nil {
		l.Log(err)
	}
	select {
	case l.arrived <- struct{}{}:
	default:
	}
}

// away rejects the first attempts, one of them without a response.
func (l *limits) away(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	l.mu.Lock()
	l.refusals++
	refused, breaks := l.refusals <= refusedBefore, l.refusals == 2
	if !refused {
		name := "view"
		for _, n := range []string{"first", "second", "engagement"} {
			if strings.Contains(string(body), `"name":"`+n+`"`) {
				name = n
			}
		}
		l.taken = append(l.taken, name)
	}
	l.mu.Unlock()
	if breaks {
		panic(http.ErrAbortHandler) // closes the connection
	}
	if refused {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	l.event(w, r)
}

// settled responds when all events have arrived, or when they no longer seem to come.
func (l *limits) settled(_ http.ResponseWriter, r *http.Request) {
	deadline := time.After(2 * time.Minute)
	for len(l.Stored()) < len(limitedEvents) {
		select {
		case <-l.arrived:
		case <-deadline:
			return
		case <-r.Context().Done():
			return
		}
	}
}

// TestTheTrackerKnowsItsLimits checks that a script that does not load delays no page, that a page
// rendered late is not seen to its end, that frames and URLs replaced at once are not pages, and
// that an unreachable server loses nothing.
func TestTheTrackerKnowsItsLimits(t *testing.T) {
	t.Parallel()
	l, pages := newLimits(t)
	if out, err := servertest.Script(t, "tracker_limits.mjs", pages.URL).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	var got []string
	scroll := map[string]int{}
	for _, e := range l.Stored() {
		name := e.Name
		if name == "" {
			name = "view"
		}
		got = append(got, name+" "+e.Path)
		scroll[e.Path] = max(scroll[e.Path], e.Scroll)
	}
	slices.Sort(got)
	if want := slices.Sorted(slices.Values(limitedEvents)); !slices.Equal(got, want) {
		t.Errorf("events\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if s := scroll["/rendered"]; s < 90 || s > 99 {
		t.Errorf("a page of 8,000 pixels that was seen down to 7,800: %d %%", s)
	}
	if s := scroll["/rendered/next"]; s < 5 || s > 15 {
		t.Errorf("the next page, of which the top was seen: %d %%", s)
	}
	if want := []string{"view", "first", "second"}; len(l.taken) < 3 || !slices.Equal(l.taken[:3], want) {
		t.Errorf("taken in the order %v, want %v first", l.taken, want)
	}
}
