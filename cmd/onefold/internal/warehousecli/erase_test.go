package warehousecli

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/erasure"
	"github.com/onefold/onefold/cmd/internal/delays"
	"github.com/onefold/onefold/cmd/internal/products"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/fold/foldtest"
	"github.com/onefold/onefold/fold/streamsource"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/warehouse"
	"github.com/onefold/onefold/warehouse/export"
	"github.com/onefold/onefold/warehouse/warehousetest"
)

// TestErasureReachesExpired erases a user most of whose events have expired in the table, and one
// who is unknown to the table. The next export removes them from the warehouse, and the receipts no
// longer identify them.
func TestErasureReachesExpired(t *testing.T) {
	w := foldtest.NewWorld(t, foldtest.Setup{
		Schema: products.Schema, Group: products.Group, At: time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC),
		Folds: func(t *table.Table) []*fold.Fold { return products.Folds(t, delays.Holds{}) },
	})
	_, err := analytics.CreateSite(w.Ctx, w.Table, analytics.NewSite{ID: "shop", Retention: analytics.Retention{RawDays: 30}})
	w.Must(err)
	hits := analytics.NewCollector(w.Table, analytics.CollectorOptions{})
	send := func(visitor int, user string) {
		out, err := hits.Ingest(w.Ctx, "shop", []analytics.Hit{{Path: fmt.Sprint("/", visitor), At: w.Now(), Address: fmt.Sprint("192.0.2.", visitor), UserAgent: "Mozilla/5.0 Firefox/140.0", UserID: user}})
		w.Must(err)
		if out[0].Status != analytics.Stored {
			t.Fatalf("%+v", out)
		}
	}
	memory := warehousetest.NewMemory()
	described, err := w.DB.DescribeTable(w.Ctx, &dynamodb.DescribeTableInput{TableName: new(foldtest.TableName)})
	w.Must(err)
	house, err := warehouse.Open(w.Ctx, memory, warehouse.Options{Clock: w.Now, Temp: t.TempDir()})
	w.Must(err)
	catchUp := func() {
		t.Helper()
		w.Drain()
		stream := *described.Table.LatestStreamArn
		w.Must(export.New(house, w.Table, streamsource.New(w.DB, stream), export.Options{Stream: stream, Caught: rewriteErased(w.Table), Logger: slog.New(slog.DiscardHandler),
			Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() }}).CatchUp(w.Ctx))
		w.Advance(time.Minute)
	}
	count := func() (n int, text string) {
		t.Helper()
		for _, f := range house.Files(warehouse.Events) {
			for r, err := range house.Rows(w.Ctx, f) {
				w.Must(err)
				n, text = n+1, text+fmt.Sprintf("%+v\n", r)
			}
		}
		return n, text
	}
	for range 3 {
		send(1, "")
		send(1, "anna-4711")
		send(2, "ben-4712")
		send(3, "")
		catchUp()
		w.Advance(24 * time.Hour)
	}
	w.Advance(100 * 24 * time.Hour) // nothing is left in the table, not even sessions
	_, err = w.DB.ExpireNow(w.Ctx)
	w.Must(err)
	w.Restart()
	send(1, "")
	send(1, "anna-4711")
	send(3, "")
	catchUp()
	if n, _ := count(); n != 15 {
		t.Fatalf("the warehouse has %d events, want 15", n)
	}
	for _, user := range []string{"anna-4711", "ben-4712"} {
		r, err := erasure.User(w.Ctx, w.Table, w.Worker, "shop", user)
		w.Must(err)
		if r.Archive != erasure.ArchiveWaits || r.DoneAt.IsZero() {
			t.Errorf("%+v", r)
		}
	}
	w.Advance(time.Minute)
	catchUp()
	if n, text := count(); n != 4 || strings.Contains(text, "anna-4711") || strings.Contains(text, "ben-4712") {
		t.Errorf("%d events are left, want 4 of nobody who was erased:\n%s", n, text)
	}
	left := 0
	for r, err := range erasure.ReceiptsOfSite.All(w.Ctx, w.Table, analytics.SiteIn{SiteID: "shop"}) {
		w.Must(err)
		left++
		if r.Archive != erasure.ArchiveDone || r.Pending.UserID != "" || len(r.Pending.Visitors) > 0 || r.UserID != "" || r.Deleted.Archived == 0 {
			t.Errorf("%+v", r)
		}
	}
	if left != 2 {
		t.Errorf("%d receipts, want 2", left)
	}
}
