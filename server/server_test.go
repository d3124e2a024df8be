package server_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/onefold/onefold/server"
	"github.com/onefold/onefold/server/servertest"
	"github.com/onefold/onefold/server/webanalytics"
)

func TestStatisticsNeedTheToken(t *testing.T) {
	h := servertest.New(t, nil)
	for _, path := range []string{"/api/v1/sites/blog", "/api/v1/sites/blog/report"} {
		for _, header := range []string{"", "Bearer", "Bearer wrong", "Basic " + servertest.Token, servertest.Token} {
			if status, body := h.Get(path, "Authorization", header); status != http.StatusUnauthorized || !strings.Contains(body, "urn:onefold:error:unauthorized") {
				t.Errorf("%s with %q: %d %s", path, header, status, body)
			}
		}
		if status, body := h.Get(path, "Authorization", "Bearer "+servertest.Token); status != http.StatusOK {
			t.Errorf("%s with the token: %d %s", path, status, body)
		}
	}
	_, body := h.Get("/api/v1/sites/blog", "Authorization", "Bearer "+servertest.Token)
	if strings.Contains(strings.ToLower(body), "importkey") {
		t.Errorf("the import key was shown: %s", body)
	}
	if _, err := server.New(server.Options{Token: "short"}); err == nil {
		t.Error("a server without table and with a short token was made")
	}
}

func TestHealthAndMetrics(t *testing.T) {
	h := servertest.New(t, nil)
	h.Post("/api/event", `{"site":"blog","url":"/"}`)
	servertest.Must(t, h.Worker.Drain(t.Context()))
	if status, body := h.Get("/healthz"); status != http.StatusOK || !strings.Contains(body, `"ok"`) {
		t.Errorf("health: %d %s", status, body)
	}
	_, body := h.Get("/metrics")
	for _, want := range []string{`onefold_events_total{outcome="stored"} 1`, "onefold_fold_lag_seconds ", "onefold_fold_held_seconds 0", `onefold_fold_total{kind="dead_letters"} 0`, "onefold_http_request_seconds"} {
		if !strings.Contains(body, want) {
			t.Errorf("metrics lack %s", want)
		}
	}
	if status, _ := h.Get("/openapi.json"); status != http.StatusOK {
		t.Errorf("openapi: %d", status)
	}
}

func TestForwardedAddressNeedsProxy(t *testing.T) {
	for _, trust := range []bool{false, true} {
		h := servertest.New(t, func(o *server.Options) { o.TrustProxy, o.Analytics.EventRate, o.Analytics.EventBurst = trust, 0.001, 1 })
		for i := range 3 {
			h.Post("/api/event", `{"site":"blog","url":"/"}`, "X-Forwarded-For", fmt.Sprintf("203.0.113.9, 198.51.100.%d", i))
		}
		want := int64(1) // one address, one event
		if trust {
			want = 3
		}
		if got := h.PageViewsToday(); got != want {
			t.Errorf("trusting %v: %d page views, want %d", trust, got, want)
		}
	}
}

func TestShutdownIsClean(t *testing.T) {
	h := servertest.New(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	listener := httptest.NewUnstartedServer(nil).Listener
	s, err := server.New(server.Options{Table: h.Table, Worker: h.Worker, Token: servertest.Token, Analytics: webanalytics.Options{Collector: h.Collector}})
	servertest.Must(t, err)
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx, listener) }()
	answer, err := http.Get("http://" + listener.Addr().String() + "/healthz")
	servertest.Must(t, err)
	answer.Body.Close()
	cancel()
	servertest.Must(t, <-done)
}
