package gaprepair_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/reconcile"
	"github.com/onefold/onefold/cmd/internal/delays"
	"github.com/onefold/onefold/cmd/internal/gaprepair"
	"github.com/onefold/onefold/cmd/internal/products"
	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/fold/foldtest"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry"
)

// facts stores some facts of each product: hits of today and of earlier days, readings of today and
// yesterday, events.
type facts struct {
	*foldtest.World
	hits   *analytics.Collector
	sends  *telemetry.Collector
	events *eventstore.Store
	seq    int64
}

func (f *facts) store(n int) {
	f.Helper()
	for range n {
		f.seq++
		at := f.Now().Add(-time.Duration(f.seq%3) * 30 * time.Hour)
		for _, out := range must(f.hits.Ingest(f.Ctx, "shop", []analytics.Hit{{Path: fmt.Sprint("/", f.seq), At: at, Address: "192.0.2.1", UserAgent: "Mozilla/5.0 Firefox/140.0"}})) {
			if out.Status != analytics.Stored {
				f.Fatalf("hit: %+v", out)
			}
		}
		value := must(telemetry.Number(fmt.Sprint(f.seq)))
		for _, out := range must(f.sends.Ingest(f.Ctx, []telemetry.Incoming{{DeviceID: "d", At: at, Seq: &f.seq, Values: telemetry.Values{"temp": value}, Imported: true}})) {
			if out.Status != telemetry.Stored {
				f.Fatalf("reading: %+v", out)
			}
		}
		must(f.events.Append(f.Ctx, eventstore.ID{Type: "order", ID: fmt.Sprint(f.seq)}, eventstore.Any(), []eventstore.NewEvent{{Type: "Placed", Payload: []byte("{}")}}))
	}
}

// TestWhatWasMissedIsMadeAgain lets changes expire while no worker runs.
func TestWhatWasMissedIsMadeAgain(t *testing.T) {
	w := foldtest.NewWorld(t, foldtest.Setup{
		Schema: products.Schema, Group: products.Group, At: time.Date(2026, 5, 12, 14, 0, 0, 0, time.UTC),
		Folds: func(t *table.Table) []*fold.Fold { return products.Folds(t, delays.Holds{}) },
	})
	must(analytics.CreateSite(w.Ctx, w.Table, analytics.NewSite{ID: "shop"}))
	must(telemetry.CreateFleet(w.Ctx, w.Table, telemetry.NewFleet{ID: "f"}))
	must(telemetry.CreateDevice(w.Ctx, w.Table, telemetry.NewDevice{ID: "d", FleetID: "f"}))
	f := &facts{World: w, hits: analytics.NewCollector(w.Table, analytics.CollectorOptions{}), sends: telemetry.NewCollector(w.Table, telemetry.CollectorOptions{}), events: must(eventstore.New(w.Table, eventstore.Options{}))}
	f.store(6)
	w.Drain()
	w.Advance(time.Hour)
	f.store(9) // not folded by any worker
	w.Must(w.DB.RollShards(w.Ctx, foldtest.TableName))
	w.Advance(30 * time.Hour)
	w.Must(w.DB.TrimStreams(w.Ctx))
	f.store(3)
	w.Restart()
	w.Drain()
	o := must(fold.Read(w.Ctx, w.Table, products.Group))
	if n := o.OpenGaps(); n != 1 {
		t.Fatalf("%d times changes were missed, want 1", n)
	}
	m := gaprepair.Repairer{Table: w.Table, Folded: w.Worker, Logger: slog.New(slog.DiscardHandler)}
	if d := verify(w); d == 0 {
		t.Fatal("nothing differs before: the test shows nothing")
	}
	w.Must(m.Run(w.Ctx))
	w.Drain()
	gaps := must(fold.Read(w.Ctx, w.Table, products.Group)).Gaps
	if len(gaps) != 1 || gaps[0].Repaired.IsZero() || !strings.Contains(gaps[0].Report, "days of 1 sites") {
		t.Errorf("what was missed: %+v", gaps)
	}
	t.Log(gaps[0].Report)
	if d := verify(w); d != 0 {
		t.Errorf("%d items differ", d)
	}
	if status := must(telemetry.StatusByID.Get(w.Ctx, w.Table, telemetry.DeviceIn{DeviceID: "d"})); fmt.Sprint(status.Values["temp"].Value) != "18" {
		t.Errorf("the status is %+v, want 18 as latest value", status)
	}
	commits := 0
	for _, err := range f.events.FeedCommits(w.Ctx, 0) {
		w.Must(err)
		commits++
	}
	if commits != 18 {
		t.Errorf("the feed has %d appends, want 18", commits)
	}
	w.Must(m.Run(w.Ctx)) // there is nothing left to repair
}

// verify returns the number of differences from the facts.
func verify(w *foldtest.World) int {
	w.Helper()
	found := must(reconcile.Verify(w.Ctx, w.Table, w.Worker, reconcile.RangeIn{Site: "shop", From: "2026-05-08", To: "2026-05-13"}, nil))
	n := int(found.Count)
	for day := -3; day < 3; day++ {
		at := time.Date(2026, 5, 12+day, 12, 0, 0, 0, time.UTC)
		n += must(telemetry.Verify(w.Ctx, w.Table, w.Worker, "d", at, at.Add(time.Second))).Count
	}
	return n
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
