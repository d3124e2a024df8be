package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/oklog/ulid/v2"

	"github.com/onefold/onefold/accounts"
	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/erasure"
	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/server"
	"github.com/onefold/onefold/table"
)

const (
	token   = "a token that nobody guesses"
	firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:138.0) Gecko/20100101 Firefox/138.0"
)

// house is a server on a table in memory, with one site, "blog".
type house struct {
	*testing.T
	url    string
	table  *table.Table
	worker *fold.Worker

	accounts  *accounts.Store
	collector *analytics.Collector
}

func newHouse(t *testing.T, change func(*server.Options)) *house {
	t.Helper()
	db, err := engine.OpenMemory(engine.Options{})
	must(t, err)
	t.Cleanup(func() { must(t, db.Close()) })
	tbl := table.New(db, "onefold", table.Options{})
	ctx := t.Context()
	must(t, table.MustSchema("all", erasure.Schema, accounts.Schema).Ensure(ctx, db, "onefold"))
	described, err := db.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: aws.String("onefold")})
	must(t, err)
	worker, err := fold.NewWorker(tbl, fold.Streams(db, *described.Table.LatestStreamArn), analytics.Folds(analytics.Config{Retention: analytics.SiteRetention(tbl)}), fold.Options{Group: analytics.FoldGroup})
	must(t, err)
	_, err = analytics.CreateSite(ctx, tbl, analytics.NewSite{ID: "blog", TimeZone: "UTC"})
	must(t, err)
	o := server.Options{Table: tbl, Collector: analytics.NewCollector(tbl, analytics.CollectorOptions{}), Worker: worker, Token: token,
		Accounts: accounts.New(tbl, accounts.Options{Cost: accounts.Cost{KiB: 64, Passes: 1}}),
		Logger:   slog.New(slog.NewTextHandler(t.Output(), nil))}
	if change != nil {
		change(&o)
	}
	s, err := server.New(o)
	must(t, err)
	web := httptest.NewServer(s.Handler())
	t.Cleanup(web.Close)
	t.Cleanup(s.Close)
	return &house{T: t, url: web.URL, table: tbl, worker: worker, accounts: o.Accounts, collector: o.Collector}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// post sends a body as a browser would, and returns status and answer.
func (h *house) post(path, body string, headers ...string) (int, string) {
	h.Helper()
	r, err := http.NewRequestWithContext(h.Context(), http.MethodPost, h.url+path, strings.NewReader(body))
	must(h.T, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", firefox)
	return h.do(r, headers)
}

func (h *house) get(path string, headers ...string) (int, string) {
	h.Helper()
	r, err := http.NewRequestWithContext(h.Context(), http.MethodGet, h.url+path, nil)
	must(h.T, err)
	return h.do(r, headers)
}

func (h *house) do(r *http.Request, headers []string) (int, string) {
	h.Helper()
	return h.send(http.DefaultClient, r, headers)
}

func (h *house) send(web *http.Client, r *http.Request, headers []string) (int, string) {
	h.Helper()
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	answer, err := web.Do(r)
	must(h.T, err)
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	must(h.T, err)
	return answer.StatusCode, string(body)
}

func (h *house) pageViewsToday() int64 {
	h.Helper()
	must(h.T, h.worker.Drain(h.Context()))
	today := time.Now().UTC().Format(time.DateOnly)
	status, body := h.get("/api/v1/sites/blog/report?from="+today+"&to="+today, "Authorization", "Bearer "+token)
	if status != http.StatusOK {
		h.Fatalf("report: %d %s", status, body)
	}
	var report struct {
		Totals struct{ PageViews int64 }
	}
	must(h.T, json.Unmarshal([]byte(body), &report))
	return report.Totals.PageViews
}

func TestEventsCountOnce(t *testing.T) {
	h := newHouse(t, nil)
	id := ulid.Make().String()
	one := fmt.Sprintf(`{"site":"blog","id":%q,"url":"https://example.org/pricing?utm_source=x"}`, id)
	for i, want := range []string{"stored", "duplicate", "duplicate"} {
		status, body := h.post("/api/event", one)
		if status != http.StatusAccepted || !strings.Contains(body, `"`+want+`"`) {
			t.Fatalf("try %d: %d %s, want %s", i, status, body, want)
		}
	}
	var batch bytes.Buffer
	batch.WriteString(`{"site":"blog","events":[`)
	for i := range 40 {
		if i > 0 {
			batch.WriteByte(',')
		}
		fmt.Fprintf(&batch, `{"id":%q,"url":"/p%d"}`, ulid.Make(), i%7)
	}
	batch.WriteString(`]}`)
	var wait sync.WaitGroup
	for range 3 { // the same batch three times at once
		wait.Go(func() {
			if status, body := h.post("/api/events", batch.String()); status != http.StatusAccepted {
				t.Errorf("batch: %d %s", status, body)
			}
		})
	}
	wait.Wait()
	if got := h.pageViewsToday(); got != 41 {
		t.Errorf("%d page views, want 41", got)
	}
}

func TestABeaconIsAccepted(t *testing.T) {
	h := newHouse(t, nil)
	status, body := h.post("/api/event", `{"site":"blog","url":"/"}`, "Content-Type", "text/plain;charset=UTF-8", "Origin", "https://example.org")
	if status != http.StatusAccepted || !strings.Contains(body, "stored") {
		t.Fatalf("%d %s", status, body)
	}
}

func TestRefusals(t *testing.T) {
	h := newHouse(t, func(o *server.Options) { o.EventRate, o.EventBurst = 1, 5 })
	old := ulid.MustNew(ulid.Timestamp(time.Now().AddDate(-1, 0, 0)), ulid.DefaultEntropy())
	for _, c := range []struct {
		name, path, body, agent string
		status                  int
		says                    string
	}{
		{"no JSON", "/api/event", `{"site":`, firefox, 400, "urn:onefold:error:"},
		{"no site", "/api/event", `{"url":"/"}`, firefox, 422, "urn:onefold:error:invalid_request"},
		{"unknown field", "/api/event", `{"site":"blog","url":"/","colour":"red"}`, firefox, 422, "colour"},
		{"unknown site", "/api/event", `{"site":"nobody","url":"/"}`, firefox, 404, "urn:onefold:error:not_found"},
		{"site with #", "/api/event", `{"site":"a#b","url":"/"}`, firefox, 404, "urn:onefold:error:not_found"},
		{"too large", "/api/event", `{"site":"blog","url":"/` + strings.Repeat("a", 1<<20) + `"}`, firefox, 413, "urn:onefold:error:body_too_large"},
		{"bot", "/api/event", `{"site":"blog","url":"/"}`, "Googlebot/2.1 (+http://www.google.com/bot.html)", 202, "bot"},
		{"bad id", "/api/event", `{"site":"blog","url":"/","id":"12345"}`, firefox, 202, "bad_event_id"},
		{"too old", "/api/event", fmt.Sprintf(`{"site":"blog","url":"/","id":%q}`, old), firefox, 202, "too_old"},
		{"too many at once", "/api/events", `{"site":"blog","events":[` + strings.TrimSuffix(strings.Repeat(`{"url":"/"},`, 6), ",") + `]}`, firefox, 429, "rate_limited"},
	} {
		status, body := h.post(c.path, c.body, "User-Agent", c.agent)
		if status != c.status || !strings.Contains(body, c.says) {
			t.Errorf("%s: %d %.300s, want %d and %q", c.name, status, body, c.status, c.says)
		}
	}
	if got := h.pageViewsToday(); got != 0 {
		t.Errorf("%d page views of refused events", got)
	}
}

func TestStatisticsNeedTheToken(t *testing.T) {
	h := newHouse(t, nil)
	for _, path := range []string{"/api/v1/sites/blog", "/api/v1/sites/blog/report"} {
		for _, header := range []string{"", "Bearer", "Bearer wrong", "Basic " + token, token} {
			if status, body := h.get(path, "Authorization", header); status != http.StatusUnauthorized || !strings.Contains(body, "urn:onefold:error:unauthorized") {
				t.Errorf("%s with %q: %d %s", path, header, status, body)
			}
		}
		if status, body := h.get(path, "Authorization", "Bearer "+token); status != http.StatusOK {
			t.Errorf("%s with the token: %d %s", path, status, body)
		}
	}
	_, body := h.get("/api/v1/sites/blog", "Authorization", "Bearer "+token)
	if strings.Contains(strings.ToLower(body), "importkey") {
		t.Errorf("the import key was shown: %s", body)
	}
	if _, err := server.New(server.Options{Token: "short"}); err == nil {
		t.Error("a server without table and with a short token was made")
	}
}

func TestHealthAndMetrics(t *testing.T) {
	h := newHouse(t, nil)
	h.post("/api/event", `{"site":"blog","url":"/"}`)
	must(t, h.worker.Drain(t.Context()))
	if status, body := h.get("/healthz"); status != http.StatusOK || !strings.Contains(body, `"ok"`) {
		t.Errorf("health: %d %s", status, body)
	}
	_, body := h.get("/metrics")
	for _, want := range []string{`onefold_events_total{outcome="stored"} 1`, "onefold_fold_lag_seconds 0", `onefold_fold_total{kind="dead_letters"} 0`, "onefold_http_request_seconds"} {
		if !strings.Contains(body, want) {
			t.Errorf("metrics lack %s", want)
		}
	}
	if status, _ := h.get("/openapi.json"); status != http.StatusOK {
		t.Errorf("openapi: %d", status)
	}
}

func TestForwardedAddressIsOnlyBelievedBehindAProxy(t *testing.T) {
	for _, trust := range []bool{false, true} {
		h := newHouse(t, func(o *server.Options) { o.TrustProxy, o.EventRate, o.EventBurst = trust, 0.001, 1 })
		for i := range 3 {
			h.post("/api/event", `{"site":"blog","url":"/"}`, "X-Forwarded-For", fmt.Sprintf("203.0.113.9, 198.51.100.%d", i))
		}
		want := int64(1) // one address, one event
		if trust {
			want = 3
		}
		if got := h.pageViewsToday(); got != want {
			t.Errorf("trusting %v: %d page views, want %d", trust, got, want)
		}
	}
}

func TestShutdownIsClean(t *testing.T) {
	h := newHouse(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	listener := httptest.NewUnstartedServer(nil).Listener
	s, err := server.New(server.Options{Table: h.table, Collector: analytics.NewCollector(h.table, analytics.CollectorOptions{}), Worker: h.worker, Token: token})
	must(t, err)
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx, listener) }()
	answer, err := http.Get("http://" + listener.Addr().String() + "/healthz")
	must(t, err)
	answer.Body.Close()
	cancel()
	must(t, <-done)
}
