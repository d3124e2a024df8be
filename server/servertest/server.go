// Package servertest runs a server for a test, on a table in memory, and simulates people who use
// it.
package servertest

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/onefold/onefold/analytics"
	sitealerts "github.com/onefold/onefold/analytics/alerts"
	"github.com/onefold/onefold/analytics/digest"
	"github.com/onefold/onefold/analytics/erasure"
	"github.com/onefold/onefold/analytics/notify"
	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/shred"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/fold/streamsource"
	"github.com/onefold/onefold/server"
	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/jobs"
	"github.com/onefold/onefold/server/webanalytics"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry"
	"github.com/onefold/onefold/telemetry/alerts"
)

const (
	Token   = "a token that nobody guesses" // reads all sites
	Firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:138.0) Gecko/20100101 Firefox/138.0"
)

// Server is a server on a table in memory, with one site, "blog".
type Server struct {
	*testing.T
	URL    string
	Table  *table.Table
	Worker *fold.Worker
	Server *server.Server

	Accounts  *accounts.Store
	Collector *analytics.Collector
}

// New runs a server until the test ends. change may modify its options. Only the test folds.
func New(t *testing.T, change func(*server.Options)) *Server {
	t.Helper()
	db, err := engine.OpenMemory(engine.Options{})
	Must(t, err)
	t.Cleanup(func() { Must(t, db.Close()) })
	return On(t, db, change)
}

// DB is the database of a Server.
type DB interface {
	dynamo.API
	dynamo.Streams
}

// On is like New on a database of the test's own. If the database has a clock, the server uses it.
func On(t *testing.T, db DB, change func(*server.Options)) *Server {
	t.Helper()
	clock := time.Now
	if timed, ok := db.(interface{ Now() time.Time }); ok {
		clock = timed.Now
	}
	tbl := table.New(db, "onefold", table.Options{Clock: clock})
	ctx := t.Context()
	Must(t, Schema.Ensure(ctx, db, "onefold"))
	described, err := db.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: aws.String("onefold")})
	Must(t, err)
	worker, err := fold.NewWorker(tbl, streamsource.New(db, *described.Table.LatestStreamArn), folds(tbl), fold.Options{Group: analytics.FoldGroup})
	Must(t, err)
	_, err = analytics.CreateSite(ctx, tbl, analytics.NewSite{ID: "blog", TimeZone: "UTC"})
	Must(t, err)
	o := server.Options{Table: tbl, Worker: worker, Token: Token, Clock: clock,
		Analytics: webanalytics.Options{Collector: analytics.NewCollector(tbl, analytics.CollectorOptions{})},
		Accounts:  accounts.New(tbl, accounts.Options{Cost: accounts.Cost{KiB: 64, Passes: 1}}),
		Logger:    slog.New(slog.NewTextHandler(t.Output(), nil))}
	if change != nil {
		change(&o)
	}
	s, err := server.New(o)
	Must(t, err)
	web := httptest.NewServer(s.Handler())
	t.Cleanup(web.Close)
	t.Cleanup(s.Close)
	return &Server{T: t, URL: web.URL, Table: tbl, Worker: worker, Server: s, Accounts: o.Accounts, Collector: o.Analytics.Collector}
}

// Schema is the schema of its table.
var Schema = table.MustSchema("all", erasure.Schema, notify.Schema, digest.Schema, sitealerts.Schema, accounts.Schema, alerts.Schema, shred.Schema, jobs.Schema)

// folds returns the folds of all products.
func folds(t *table.Table) []*fold.Fold {
	return slices.Concat(
		analytics.Folds(analytics.Config{Retention: analytics.SiteRetention(t)}),
		telemetry.Folds(telemetry.Config{Retention: telemetry.FleetRetention(t)}),
		[]*fold.Fold{alerts.Fold()},
		eventstore.Folds(),
	)
}

// Must fails the test immediately if err is not nil.
func Must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Post sends a body as a browser would, and returns the status and body of the response.
func (h *Server) Post(path, body string, headers ...string) (int, string) {
	h.Helper()
	r, err := http.NewRequestWithContext(h.Context(), http.MethodPost, h.URL+path, strings.NewReader(body))
	Must(h.T, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", Firefox)
	return h.Do(r, headers)
}

// Get sends a request as a browser without a login would.
func (h *Server) Get(path string, headers ...string) (int, string) {
	h.Helper()
	r, err := http.NewRequestWithContext(h.Context(), http.MethodGet, h.URL+path, nil)
	Must(h.T, err)
	return h.Do(r, headers)
}

// Do sends a request with additional headers, as alternating names and values.
func (h *Server) Do(r *http.Request, headers []string) (int, string) {
	h.Helper()
	return h.Send(http.DefaultClient, r, headers)
}

// Send is Do with another HTTP client.
func (h *Server) Send(web *http.Client, r *http.Request, headers []string) (int, string) {
	h.Helper()
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	answer, err := web.Do(r)
	Must(h.T, err)
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	Must(h.T, err)
	return answer.StatusCode, string(body)
}

// PageViewsToday folds, and returns today's page views of the site.
func (h *Server) PageViewsToday() int64 {
	h.Helper()
	Must(h.T, h.Worker.Drain(h.Context()))
	today := time.Now().UTC().Format(time.DateOnly)
	status, body := h.Get("/api/v1/sites/blog/report?from="+today+"&to="+today, "Authorization", "Bearer "+Token)
	if status != http.StatusOK {
		h.Fatalf("report: %d %s", status, body)
	}
	var report struct {
		Totals struct{ PageViews int64 }
	}
	Must(h.T, json.Unmarshal([]byte(body), &report))
	return report.Totals.PageViews
}

// NewWithVisits returns a server whose site has seen three visitors on eight pages today.
func NewWithVisits(t *testing.T) *Server { return withVisits(New(t, nil)) }

// OnWithVisits is NewWithVisits on a database of the test's own.
func OnWithVisits(t *testing.T, db DB) *Server { return withVisits(On(t, db, nil)) }

func withVisits(h *Server) *Server {
	t := h.T
	for i, paths := range [][]string{{"/", "/pricing", "/"}, {"/pricing"}, {"/", "/Docs", "/docs/a", "/"}} {
		for _, path := range paths {
			body := fmt.Sprintf(`{"site":"blog","url":"https://example.org%s"}`, path)
			if status, answer := h.Post("/api/event", body, "User-Agent", fmt.Sprintf("%s%d", Firefox, i)); status != http.StatusAccepted || !strings.Contains(answer, "stored") {
				t.Fatalf("ingest: %d %s", status, answer)
			}
		}
	}
	Must(t, h.Worker.Drain(t.Context()))
	return h
}

// Stored returns the raw events of the last hour.
func (h *Server) Stored() []analytics.Event {
	h.Helper()
	site, err := analytics.GetSite(h.Context(), h.Table, "blog")
	Must(h.T, err)
	now := time.Now()
	events, err := analytics.EventsBetween(&site, now.Add(-time.Hour), now.Add(time.Hour), "").Collect(h.Context(), h.Table)
	Must(h.T, err)
	return events
}

// Settings changes the site's settings, and does not wait for caches.
func (h *Server) Settings(change func(*analytics.Site)) {
	h.Helper()
	_, err := analytics.UpdateSite(h.Context(), h.Table, "blog", func(s *analytics.Site) error {
		change(s)
		return nil
	})
	Must(h.T, err)
	h.Collector.Forget("blog")
}
