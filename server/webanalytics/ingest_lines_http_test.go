package webanalytics_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/server"
	"github.com/onefold/onefold/server/servertest"
)

const ndjson = "application/x-ndjson"

func TestEventsAsLines(t *testing.T) {
	h := servertest.New(t, nil)
	body := "{\"url\":\"/a\"}\r\n{\"url\":\n\n{\"id\":\"no ULID\",\"url\":\"/b\"}\n" + strings.Repeat("x", 70<<10) + "\n{\"url\":\"/null\"}"
	status, answer := h.Post("/api/events?site=blog", body, "Content-Type", ndjson+"; charset=utf-8")
	var got struct{ Outcomes []analytics.Outcome }
	servertest.Must(t, json.Unmarshal([]byte(answer), &got))
	want := []string{"stored ", "rejected bad_line", "rejected bad_event_id", "rejected line_too_long", "stored "}
	if status != http.StatusAccepted || len(got.Outcomes) != len(want) {
		t.Fatalf("%d %s", status, answer)
	}
	for i, o := range got.Outcomes {
		if s := fmt.Sprintf("%s %s", o.Status, o.Reason); s != want[i] {
			t.Errorf("line %d: %s, want %s", i, s, want[i])
		}
	}
	if detail := got.Outcomes[3].Detail; !strings.HasPrefix(detail, "line 5 ") {
		t.Errorf("%q does not name line 5", detail)
	}
	if n := h.PageViewsToday(); n != 2 {
		t.Errorf("%d page views, want 2", n)
	}
	_, bots := h.Get("/api/v1/sites/blog/bots", "Authorization", "Bearer "+servertest.Token)
	for _, reason := range []string{"bad_line", "line_too_long", "bad_event_id"} {
		if !strings.Contains(bots, reason) {
			t.Errorf("%s is not counted: %s", reason, bots)
		}
	}
}

func TestRejectedLines(t *testing.T) {
	h := servertest.New(t, func(o *server.Options) { o.Analytics.SiteRate = 0.001 }) // 1,000 at once
	line := "{\"url\":\"/\"}\n"
	for _, c := range []struct {
		path, body string
		status     int
		code       string
		headers    []string
	}{
		{"/api/events", line, http.StatusUnprocessableEntity, "no_site", nil},
		{"/api/events?site=nobody", line, http.StatusNotFound, "not_found", nil},
		{"/api/events?site=nobody", "broken\n", http.StatusNotFound, "not_found", nil},
		{"/api/events?site=blog", "", http.StatusUnprocessableEntity, "no_events", nil},
		{"/api/events?site=blog", "\r\n\r\n", http.StatusUnprocessableEntity, "no_events", nil},
		{"/api/events?site=blog", strings.Repeat(line, 1001), http.StatusRequestEntityTooLarge, "too_many_events", nil},
		{"/api/events?site=blog", strings.Repeat("x", 5<<20), http.StatusRequestEntityTooLarge, "body_too_large", nil},
		{"/api/events?site=blog", line, http.StatusUnsupportedMediaType, "unsupported_media_type", []string{"Content-Encoding", "gzip"}},
		{"/api/events?site=blog", `{"url":"/","visitor":{"address":"192.0.2.1","userAgent":"x"}}`, http.StatusUnauthorized, "unauthorized", nil},
		{"/api/events?site=blog", strings.Repeat("broken\n", 1000), http.StatusAccepted, "bad_line", nil},
		{"/api/events?site=blog", line, http.StatusTooManyRequests, "rate_limited", nil}, // broken lines count towards the rate, too
	} {
		status, answer := h.Post(c.path, c.body, append(c.headers, "Content-Type", ndjson)...)
		if status != c.status || !strings.Contains(answer, c.code) {
			t.Errorf("%s %.30q: %d %.300s, want %d %s", c.path, c.body, status, answer, c.status, c.code)
		}
	}
	if events := h.Stored(); len(events) != 0 {
		t.Errorf("%d events were stored", len(events))
	}
}

// If a body ends early, nothing of it is stored: the client sends it again.
func TestTruncatedLines(t *testing.T) {
	h := servertest.New(t, nil)
	for _, framing := range []string{"Content-Length: 1000\r\n\r\n{\"url\":\"/\"}\n{\"ur", "Transfer-Encoding: chunked\r\n\r\nc\r\n{\"url\":\"/\"}\n\r\n64\r\n{\"ur"} {
		c, err := net.Dial("tcp", strings.TrimPrefix(h.URL, "http://"))
		servertest.Must(t, err)
		_, err = io.WriteString(c, "POST /api/events?site=blog HTTP/1.1\r\nHost: x\r\nUser-Agent: "+servertest.Firefox+"\r\nContent-Type: "+ndjson+"\r\n"+framing)
		servertest.Must(t, err)
		servertest.Must(t, c.(*net.TCPConn).CloseWrite())
		answer, err := io.ReadAll(c)
		servertest.Must(t, err)
		servertest.Must(t, c.Close())
		if !strings.HasPrefix(string(answer), "HTTP/1.1 400 ") || !strings.Contains(string(answer), "ended early") {
			t.Errorf("%q: %s", framing, answer)
		}
	}
	if events := h.Stored(); len(events) != 0 {
		t.Errorf("%d events were stored", len(events))
	}
}

func TestTheDocumentKnowsLines(t *testing.T) {
	h := servertest.New(t, nil)
	_, text := h.Get("/openapi.json")
	var document struct {
		Paths map[string]map[string]struct {
			Parameters  []struct{ Name, In string }
			RequestBody struct{ Content map[string]any }
		}
	}
	servertest.Must(t, json.Unmarshal([]byte(text), &document))
	of := document.Paths["/api/events"]["post"]
	if of.RequestBody.Content[ndjson] == nil || of.RequestBody.Content["application/json"] == nil {
		t.Errorf("bodies %v", of.RequestBody.Content)
	}
	for _, p := range of.Parameters {
		if p.Name == "site" && p.In == "query" {
			return
		}
	}
	t.Errorf("no parameter site: %v", of.Parameters)
}
