package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/report"
	"github.com/onefold/onefold/server/servertest"
)

// measuredSite is a web site with the tracker, on another origin than the server that counts.
type measuredSite struct {
	*servertest.Server
	front   *httptest.Server // the server that counts, as the pages see it
	pages   *httptest.Server
	arrived chan struct{} // gets a value after every event that was answered, if it has room
	want    int           // expected number of events

	mu   sync.Mutex
	lost map[string]bool // IDs whose first response was lost
}

func newMeasuredSite(t *testing.T, want int) *measuredSite {
	t.Helper()
	v := newFront(t, want)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /", v.page)
	mux.HandleFunc("GET /files/report.pdf", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	mux.HandleFunc("GET /elsewhere", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `<a id="back" href="%s/?utm_source=letter&utm_medium=email">Read on</a>`, v.pages.URL)
	})
	mux.HandleFunc("POST /lossy/event", v.lossy)
	v.serve(mux)
	return v
}

// newFront is a measured site whose pages are not served yet.
func newFront(t *testing.T, want int) *measuredSite {
	t.Helper()
	v := &measuredSite{Server: servertest.New(t, nil), arrived: make(chan struct{}, 1), lost: map[string]bool{}, want: want}
	target, err := url.Parse(v.URL)
	servertest.Must(t, err)
	proxy := httputil.NewSingleHostReverseProxy(target)
	v.front = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		proxy.ServeHTTP(w, r)
		v.tell()
	}))
	t.Cleanup(v.front.Close)
	return v
}

// serve serves the site's pages.
func (v *measuredSite) serve(mux *http.ServeMux) {
	mux.HandleFunc("GET /settled", v.settled)
	v.pages = httptest.NewServer(mux)
	v.Cleanup(v.pages.Close)
}

func (v *measuredSite) tell() {
	select {
	case v.arrived <- struct{}{}:
	default:
	}
}

// tags are the tracker's script tags, by page; other pages have the plain one.
var tags = map[string]string{
	"/hash":    `data-hash`,
	"/missing": `data-404`,
	"/lossy":   `data-api="/lossy/event"`,
	"/vitals":  `data-vitals`,
	"/respect": `data-respect="dnt gpc"`,
}

// bodies are the further contents of pages.
var bodies = map[string]string{
	"/": `<div style="height: 3000px"></div><a id="about" href="/about">About</a>`,
	"/about": `<a id="file" href="/files/report.pdf?token=1">Report</a>
		<a id="away" href="{{elsewhere}}/elsewhere?token=1"><b>Away</b></a>`,
	"/app": `<button id="push" onclick="history.pushState(null, '', '/app/list')">List</button>
		<button id="same" onclick="history.replaceState(null, '', '?sort=name')">Sort</button>
		<button id="deep" onclick="history.pushState(null, '', '/app/list/7')">Open</button>`,
	"/hash":   `<a id="next" href="#/next?tab=2">Next</a>`,
	"/clock":  `<script>const now = Date.now; Date.now = () => now() + 864e5</script>`,
	"/vitals": `<h1>A heading that is painted</h1><button id="button" onclick="const t = performance.now(); while (performance.now() - t < 60);">Press</button>`,
}

// heads come before the tracker's script, as docs/guides/tracker.md describes for early calls.
var heads = map[string]string{
	// A busy machine: time spent while a page is left is not engagement, and is not reported again
	// when the page is then hidden.
	"/slow": `<script>const beacon = navigator.sendBeacon
		navigator.sendBeacon = function () { const t = performance.now(); while (performance.now() - t < 200); return beacon.apply(navigator, arguments) }</script>`,
	"/calls": `<script>window.onefold=window.onefold||function(){(onefold.q=onefold.q||[]).push(arguments)}
		onefold('early', {props: {a: '1'}}); onefold('identify', 'user-7')</script>`,
}

func (v *measuredSite) page(w http.ResponseWriter, r *http.Request) {
	tag := fmt.Sprintf(`<script async src="%s/js/onefold.js" data-site="blog" %s></script>`, v.front.URL, tags[r.URL.Path])
	if r.URL.Path == "/twice" {
		tag += tag
	}
	if r.URL.Path == "/inserted" { // as docs/guides/tracker-recipes.md does for Google Tag Manager
		tag = fmt.Sprintf(`<script>var script = document.createElement('script'); script.async = true; script.dataset.site = 'blog'; script.src = '%s/js/onefold.js'; document.head.appendChild(script)</script>`, v.front.URL)
	}
	elsewhere := strings.Replace(v.pages.URL, "127.0.0.1", "localhost", 1)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	fmt.Fprintf(w, `<!doctype html><html lang="en"><title>%s</title><link rel="icon" href="data:,">%s%s<body>%s`,
		r.URL.Path, heads[r.URL.Path], tag, strings.ReplaceAll(bodies[r.URL.Path], "{{elsewhere}}", elsewhere))
}

// lossy forwards every event, and returns an error the first time.
func (v *measuredSite) lossy(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var event struct{ ID string }
	if err := json.Unmarshal(body, &event); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	onward, err := http.NewRequestWithContext(context.WithoutCancel(r.Context()), http.MethodPost, v.URL+"/api/event", bytes.NewReader(body))
	if err == nil {
		onward.Header = r.Header.Clone()
		var answer *http.Response
		if answer, err = http.DefaultClient.Do(onward); err == nil {
			err = answer.Body.Close()
		}
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	v.mu.Lock()
	first := !v.lost[event.ID]
	v.lost[event.ID] = true
	v.mu.Unlock()
	if first {
		w.WriteHeader(http.StatusServiceUnavailable)
	} else {
		w.WriteHeader(http.StatusAccepted)
	}
	v.tell()
}

// settled responds when all events have arrived, or when they no longer seem to come.
func (v *measuredSite) settled(w http.ResponseWriter, r *http.Request) {
	deadline := time.After(2 * time.Minute)
	for len(v.Stored()) < v.want {
		select {
		case <-v.arrived:
		case <-deadline:
			fmt.Fprint(w, "something is missing")
			return
		case <-r.Context().Done():
			return
		}
	}
	fmt.Fprint(w, "settled")
}

// wantEvents are the events of e2e/tracker.mjs, as formatted by line.
var wantEvents = []string{
	"view /", "engagement /", "view /about", "download /about url=PAGES/files/report.pdf", "outbound /about url=ELSEWHERE/elsewhere", "engagement /about",
	"view /app", "engagement /app", "view /app/list", "engagement /app/list", "view /app/list/7", "engagement /app/list/7", "view /app/list", "engagement /app/list",
	"view /hash/start", "engagement /hash/start", "view /hash/next", "engagement /hash/next",
	"view /calls by user-7", "early /calls by user-7 a=1", "purchase /calls by user-7 for 12.5 plan=pro seats=3 trial=false", "order /calls by user-7 for 8", "seen /calls by 7", "engagement /calls",
	"view /missing", "404 /missing", "engagement /missing",
	"view /lossy", "once /lossy", "engagement /lossy",
	"view /twice", "engagement /twice", "view /inserted", "engagement /inserted", "view /slow", "engagement /slow",
	"view /vitals", "vitals /vitals", "engagement /vitals",
	"view /own", "engagement /own", "view /clock", "engagement /clock", "view /long", "engagement /long",
}

// line formats an event in one line.
func (v *measuredSite) line(e *analytics.Event) string {
	name := e.Name
	if name == "" {
		name = "view"
	}
	line := name + " " + e.Path
	if e.UserID != "" {
		line += " by " + e.UserID
	}
	if e.Revenue != "" {
		line += " for " + e.Revenue
	}
	for _, property := range slices.Sorted(maps.Keys(e.Properties)) {
		line += " " + property + "=" + e.Properties[property]
	}
	line = strings.ReplaceAll(line, v.pages.URL, "PAGES")
	return strings.ReplaceAll(line, strings.Replace(v.pages.URL, "127.0.0.1", "localhost", 1), "ELSEWHERE")
}

// TestTheTrackerInABrowser visits real pages in Chromium: every event arrives, once, and no others.
func TestTheTrackerInABrowser(t *testing.T) {
	t.Parallel()
	v := newMeasuredSite(t, len(wantEvents))
	cmd := servertest.Script(t, "tracker.mjs", v.pages.URL)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	events := v.wantStored(wantEvents)
	for i := range events {
		v.checkDetails(&events[i])
	}
	v.checkVitals()
}

// wantStored returns the stored events, and fails if they are others than wanted.
func (v *measuredSite) wantStored(lines []string) []analytics.Event {
	v.Helper()
	var got []string
	events := v.Stored()
	for i := range events {
		got = append(got, v.line(&events[i]))
	}
	want := slices.Sorted(slices.Values(lines))
	slices.Sort(got)
	if !slices.Equal(got, want) {
		v.Errorf("events\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	return events
}

// checkVitals checks the statistics of what the browser measured.
func (v *measuredSite) checkVitals() {
	v.Helper()
	servertest.Must(v.T, v.Worker.Drain(v.Context()))
	today := time.Now().UTC().Format(time.DateOnly)
	out, err := report.WebVitals(v.Context(), v.Table, report.VitalsRequest{Site: "blog", From: today, To: today})
	servertest.Must(v.T, err)
	if len(out.Pages) != 1 || out.Pages[0].Value != "/vitals" || out.Pages[0].LCP == nil || out.Pages[0].INP == nil || out.Pages[0].CLS == nil {
		v.Errorf("web vitals of pages: %+v", out.Pages)
	}
}

// checkDetails checks fields that differ from run to run.
func (v *measuredSite) checkDetails(e *analytics.Event) {
	v.Helper()
	switch e.Name + e.Path {
	case "/":
		if e.UTM.Source != "letter" || e.Referrer != "localhost" || e.Screen == "" || e.Language == "" || e.Browser != "Chrome" {
			v.Errorf("the first page view: %+v", e)
		}
	case "engagement/":
		if e.EngagedMS < 250 || e.EngagedMS > 120_000 || e.Scroll < 95 {
			v.Errorf("two short looks down to the end: %+v", e.Engagement)
		}
	case "vitals/vitals":
		if e.LCP <= 0 || e.LCP > 120_000 || e.CLS == nil || *e.CLS < 0 {
			v.Errorf("vitals: %+v", e.Vitals)
		}
	}
}
