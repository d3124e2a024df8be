package server_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/onefold/onefold/server"
	"github.com/onefold/onefold/server/servertest"
)

// A process that only ingests facts has the routes for that, including those hidden from the API
// document, and no others.
func TestIntake(t *testing.T) {
	h := servertest.New(t, func(o *server.Options) { o.Analytics.TrackerPath, o.Analytics.EventPath = "/a/b.js", "/a/b" })
	handler, settle := h.Server.Intake()
	event := `{"site":"blog","url":"https://blog.example/"}`
	for _, c := range []struct {
		method, path, body string
		want               int
	}{
		{"POST", "/api/event", event, 202},
		{"POST", "/a/b", event, 202},
		{"OPTIONS", "/api/event", "", 204},
		{"POST", "/api/events", `{"site":"blog","events":[{"url":"/"}]}`, 202},
		{"GET", "/api/pixel.gif?site=blog&url=/", "", 200},
		{"GET", "/js/onefold.js", "", 200},
		{"GET", "/a/b.vitals.js", "", 200},
		{"HEAD", "/js/onefold.js", "", 200},
		{"POST", "/api/readings", `{}`, 401},
		{"POST", "/write?db=x", "m v=1", 401},
		{"POST", "/api/v1/events/aggregates/order/1/events", `{"events":[{"type":"A"}]}`, 401},
		{"GET", "/api/event", "", 404},
		{"GET", "/", "", 404},
		{"GET", "/docs", "", 404},
		{"GET", "/metrics", "", 404},
		{"GET", "/healthz", "", 404},
		{"GET", "/openapi.json", "", 404},
		{"GET", "/api/v1/sites", "", 404},
		{"POST", "/api/v1/session", `{}`, 404},
		{"GET", "/api/v1/events/aggregates/order/1/events", "", 404},
		{"GET", "/badge/blog.svg", "", 404},
		{"GET", "/js/../api/v1/sites", "", 404},
	} {
		r := httptest.NewRequest(c.method, c.path, strings.NewReader(c.body))
		r.Header.Set("User-Agent", "Mozilla/5.0 (X11; Linux x86_64; rv:150.0) Gecko/20100101 Firefox/150.0")
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if body, _ := io.ReadAll(w.Result().Body); w.Code != c.want {
			t.Errorf("%s %s: %d, want %d: %s", c.method, c.path, w.Code, c.want, body)
		}
	}
	if n := len(h.Stored()); n != 4 {
		t.Errorf("%d events are stored, want 4", n)
	}
	servertest.Must(t, settle(t.Context()))
	r := httptest.NewRequest(http.MethodPost, "/api/event", strings.NewReader(event))
	r.Header.Set("User-Agent", "Googlebot/2.1 (+http://www.google.com/bot.html)")
	handler.ServeHTTP(httptest.NewRecorder(), r)
	servertest.Must(t, settle(t.Context()))
}
