package webanalytics_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/oklog/ulid/v2"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/fold/streamsource"
	"github.com/onefold/onefold/server"
	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/servertest"
	"github.com/onefold/onefold/server/webanalytics"
	"github.com/onefold/onefold/table"
)

// BenchmarkEvent serves POST /api/event of a browser, without the network and on a table in memory.
func BenchmarkEvent(b *testing.B) {
	handler := benchHandler(b)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		body := fmt.Sprintf(`{"site":"blog","id":%q,"url":"https://example.org/blog/post-%d?utm_source=letter","referrer":"https://news.ycombinator.com/item?id=1","screen":"1440x900","language":"en-GB"}`, ulid.Make(), i%500)
		r := httptest.NewRequest(http.MethodPost, "/api/event", strings.NewReader(body))
		r.Header.Set("Content-Type", "text/plain;charset=UTF-8")
		r.Header.Set("User-Agent", servertest.Firefox)
		r.Header.Set("Origin", "https://example.org")
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if w.Code != http.StatusAccepted {
			b.Fatal(w.Code, w.Body)
		}
	}
}

// benchHandler is a server without rate limits and without folds.
func benchHandler(b *testing.B) http.Handler {
	b.Helper()
	check := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	db, err := engine.OpenMemory(engine.Options{})
	check(err)
	b.Cleanup(func() { check(db.Close()) })
	tbl := table.New(db, "onefold", table.Options{})
	check(table.MustSchema("all", analytics.Schema, accounts.Schema).Ensure(b.Context(), db, "onefold"))
	described, err := db.DescribeTable(b.Context(), &dynamodb.DescribeTableInput{TableName: aws.String("onefold")})
	check(err)
	worker, err := fold.NewWorker(tbl, streamsource.New(db, *described.Table.LatestStreamArn), analytics.Folds(analytics.Config{Retention: analytics.SiteRetention(tbl)}), fold.Options{Group: analytics.FoldGroup})
	check(err)
	_, err = analytics.CreateSite(b.Context(), tbl, analytics.NewSite{ID: "blog", TimeZone: "UTC"})
	check(err)
	s, err := server.New(server.Options{
		Table: tbl, Worker: worker, Token: servertest.Token,
		Analytics: webanalytics.Options{
			Collector: analytics.NewCollector(tbl, analytics.CollectorOptions{}), EventRate: 1e9, EventBurst: 1e9, SiteRate: 1e8,
		},
	})
	check(err)
	b.Cleanup(s.Close)
	return s.Handler()
}

// BenchmarkEvents serves POST /api/events with 500 events each. ns/op is per event.
func BenchmarkEvents(b *testing.B) {
	handler := benchHandler(b)
	b.ReportAllocs()
	const size = 500
	for i := 0; i < b.N; i += size {
		var body strings.Builder
		body.WriteString(`{"site":"blog","events":[`)
		for n := range size {
			if n > 0 {
				body.WriteByte(',')
			}
			fmt.Fprintf(&body, `{"id":%q,"url":"https://example.org/blog/post-%d?utm_source=letter","referrer":"https://news.ycombinator.com/item?id=1","screen":"1440x900","language":"en-GB"}`, ulid.Make(), n)
		}
		body.WriteString(`]}`)
		r := httptest.NewRequest(http.MethodPost, "/api/events", strings.NewReader(body.String()))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("User-Agent", servertest.Firefox)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if w.Code != http.StatusAccepted {
			b.Fatal(w.Code, w.Body)
		}
	}
}
