package erasure

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/reconcile"
	"github.com/onefold/onefold/analytics/report"
	"github.com/onefold/onefold/table"
)

// TestUser erases a user and compares everything that is left with a site that never had that user.
func TestUser(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	all, others := draw(rand.New(rand.NewPCG(seed, 1)), 300)
	want := newWorld(t)
	want.ingest("site", others...)
	want.settle()
	w := newWorld(t)
	w.ingest("site", all...)
	w.settle()
	receipt, err := User(w.Ctx, w.Table, w.Worker, "site", "ann-4711")
	w.Must(err)
	if receipt.Deleted.Events != int64(len(all)-len(others)) || receipt.Deleted.Sessions == 0 || receipt.Deleted.Visitors == 0 || receipt.Sealed != 0 || receipt.DoneAt.IsZero() {
		t.Errorf("%+v; %d events", receipt, len(all)-len(others))
	}
	w.checkSame(want.figures())
	w.checkClean()
	w.settle()
	w.checkSame(want.figures())
	w.checkClean()
	if left := w.items("ann-4711"); len(left) > 0 {
		t.Errorf("there are still %q", left)
	}
	if _, err := User(w.Ctx, w.Table, w.Worker, "site", "ann-4711"); !errors.Is(err, ErrNobody) {
		t.Errorf("again: %v", err)
	}
	receipts, err := ReceiptsOfSite.Collect(w.Ctx, w.Table, analytics.SiteIn{SiteID: "site"})
	w.Must(err)
	if len(receipts) != 1 || receipts[0].Deleted != receipt.Deleted || len(receipts[0].Subject) != 64 {
		t.Errorf("%+v", receipts)
	}
}

// Even without the rebuild at the end, the folds subtract what was counted.
func TestFoldsSubtractErasedEvents(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	all, others := draw(rand.New(rand.NewPCG(seed, 2)), 200)
	want := newWorld(t)
	want.ingest("site", others...)
	want.settle()
	w := newWorld(t)
	w.ingest("site", all...)
	w.settle()
	site, err := analytics.GetSite(w.Ctx, w.Table, "site")
	w.Must(err)
	days, _, err := daysOfUser(w.Ctx, w.Table, &site, "ann-4711")
	w.Must(err)
	e := &eraser{t: w.Table, w: w.Worker, site: &site, r: Receipt{Left: days}}
	e.cal = mustZone(w)
	for _, k := range days {
		w.Must(e.events(w.Ctx, k))
	}
	w.Must(e.drain(w.Ctx))
	left, err := e.visitors(w.Ctx, days)
	w.Must(err)
	if len(left) > 0 {
		t.Errorf("%v left", left)
	}
	w.settle()
	w.checkSame(want.figures())
}

// Resume finishes an erasure that was interrupted at any point.
func TestResume(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 3))
	all, others := draw(r, 150)
	want := newWorld(t)
	want.ingest("site", others...)
	want.settle()
	w := newWorld(t)
	w.ingest("site", all...)
	w.settle()
	ctx, cancel := context.WithCancel(w.Ctx)
	drains := 2 + r.IntN(4)
	_, err := User(ctx, w.Table, drainer(func(ctx context.Context) error {
		if drains--; drains == 0 {
			cancel()
		}
		return w.Worker.Drain(ctx)
	}), "site", "ann-4711")
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("it ended with %v", err)
	}
	w.Advance(time.Minute)
	w.Must(Resume(w.Ctx, w.Table, w.Worker, "site"))
	w.settle()
	w.checkSame(want.figures())
	w.checkClean()
	if left := w.items("ann-4711"); len(left) > 0 {
		t.Errorf("there are still %q", left)
	}
	w.Must(Resume(w.Ctx, w.Table, w.Worker, "site"))
}

// TestResumeLater finishes an erasure after the user visited again on another day. Nobody asked to
// erase that day.
func TestResumeLater(t *testing.T) {
	w := newWorld(t)
	ann := analytics.Hit{At: noon, Address: "192.0.2.1", UserAgent: "test", Path: "/p1", UserID: "ann-4711"}
	w.ingest("site", ann)
	w.settle()
	died := errors.New("died")
	drains := 0
	_, err := User(w.Ctx, w.Table, drainer(func(ctx context.Context) error {
		if drains++; drains > 1 {
			return died
		}
		return w.Worker.Drain(ctx)
	}), "site", "ann-4711")
	if !errors.Is(err, died) {
		t.Fatalf("it ended with %v", err)
	}
	w.Advance(24 * time.Hour)
	ann.At = w.Now()
	w.ingest("site", ann)
	w.settle()
	w.Must(Resume(w.Ctx, w.Table, w.Worker, "site"))
	w.settle()
	found, err := reconcile.Verify(w.Ctx, w.Table, w.Worker, reconcile.RangeIn{Site: "site", From: "2026-05-12", To: "2026-05-13"}, nil)
	w.Must(err)
	if found.Count != 0 {
		t.Errorf("%d items differ: %+v", found.Count, found.List)
	}
	var days []string
	for s, err := range analytics.UserJourney(w.Ctx, w.Table, "site", "ann-4711") {
		w.Must(err)
		days = append(days, s.Day)
	}
	if len(days) != 1 || days[0] != "2026-05-13" {
		t.Errorf("sessions are of %v, want one of the second day", days)
	}
}

type drainer func(context.Context) error

func (d drainer) Drain(ctx context.Context) error { return d(ctx) }

func TestVisitor(t *testing.T) {
	w := newWorld(t)
	hit := func(address, path string) analytics.Hit { return analytics.Hit{Address: address, Path: path, At: noon} }
	w.ingest("site", hit("1", "/a"), hit("1", "/b"), hit("2", "/a"))
	w.settle()
	for s, err := range analytics.RecentSessions(w.Ctx, w.Table, "site") {
		w.Must(err)
		if s.PageViews == 2 {
			receipt, err := Visitor(w.Ctx, w.Table, w.Worker, "site", s.SessionID)
			w.Must(err)
			if receipt.Deleted != (Deleted{Events: 2, Sessions: 1, Visitors: 1}) || receipt.FirstDay != "2026-05-12" {
				t.Errorf("%+v", receipt)
			}
		}
	}
	want := newWorld(t)
	want.ingest("site", hit("2", "/a"))
	want.settle()
	w.checkSame(want.figures())
	w.checkClean()
	if _, err := Visitor(w.Ctx, w.Table, w.Worker, "site", "01ARZ3NDEKTSV4RRFFQ69G5FAV"); !errors.Is(err, ErrNobody) {
		t.Errorf("no session: %v", err)
	}
	if _, err := User(w.Ctx, w.Table, w.Worker, "nowhere", "ann-4711"); !errors.Is(err, table.ErrNotFound) {
		t.Errorf("no site: %v", err)
	}
}

// totals returns the figures of days.
func (w *world) totals(t *testing.T) string {
	t.Helper()
	out, err := report.Make(w.Ctx, w.Table, report.Request{Site: "site", From: "2026-05-01", To: "2026-05-31", Period: analytics.Day})
	w.Must(err)
	return fmt.Sprintf("%+v", out.Totals.Figures)
}

// On sealed days, events and sessions are removed and totals stay, also when the visitor's day and
// the hours have expired.
func TestSealed(t *testing.T) {
	for days, want := range map[int]Deleted{40: {Events: 1, Sessions: 1, Visitors: 1}, 100: {Events: 1}} {
		w := newWorld(t)
		w.ingest("site", analytics.Hit{Address: "1", Path: "/a", UserID: "ann-4711"}, analytics.Hit{Address: "2", Path: "/a"})
		w.settle()
		w.Advance(48 * time.Hour)
		_, err := reconcile.RollUp(w.Ctx, w.Table, "site", w.Now())
		w.Must(err)
		w.settle()
		w.Advance(time.Duration(days-2) * 24 * time.Hour)
		before := w.totals(t)
		receipt, err := User(w.Ctx, w.Table, w.Worker, "site", "ann-4711")
		w.Must(err)
		if receipt.Deleted != want || receipt.Sealed != 1 {
			t.Errorf("after %d days: %+v", days, receipt)
		}
		w.settle()
		if after := w.totals(t); after != before || !strings.Contains(before, "PageViews:2 ") {
			t.Errorf("after %d days: %s became %s", days, before, after)
		}
		for s, err := range analytics.RecentSessions(w.Ctx, w.Table, "site") {
			if err != nil || s.UserID != "" {
				t.Errorf("after %d days: session %+v, %v", days, s, err)
			}
		}
		site, err := analytics.GetSite(w.Ctx, w.Table, "site")
		w.Must(err)
		events, err := analytics.EventsBetween(&site, time.UnixMilli(0), w.Now(), "").Collect(w.Ctx, w.Table)
		w.Must(err)
		if len(events) != 1 || events[0].UserID != "" {
			t.Errorf("after %d days: events %+v", days, events)
		}
	}
}

// A day that is sealed during an erasure keeps the user's share whole, or loses it whole.
func TestSealedMeanwhile(t *testing.T) {
	for drains := range 5 {
		for _, before := range []time.Duration{time.Minute, 2 * time.Hour} {
			w := newWorld(t)
			w.Advance(10 * time.Minute)
			w.ingest("site", analytics.Hit{Address: "1", Path: "/a", UserID: "ann-4711"}, analytics.Hit{Address: "2", Path: "/a"})
			w.settle()
			w.Advance(48 * time.Hour)
			_, err := reconcile.RollUp(w.Ctx, w.Table, "site", w.Now())
			w.Must(err)
			w.settle()
			w.Advance(28*24*time.Hour - before)
			left := drains
			receipt, err := User(w.Ctx, w.Table, drainer(func(ctx context.Context) error {
				if left--; left == -1 {
					w.Advance(2 * before)
				}
				return w.Worker.Drain(ctx)
			}), "site", "ann-4711")
			w.Must(err)
			_, err = reconcile.RollUp(w.Ctx, w.Table, "site", w.Now())
			w.Must(err)
			w.settle()
			of := 1 + receipt.Sealed
			after := w.totals(t)
			if !strings.HasPrefix(after, fmt.Sprintf("{PageViews:%d Visits:%d Visitors:%d ", of, of, of)) {
				t.Errorf("sealed in drain %d, %s after the request: %+v\n%s, want %d of each", drains, before, receipt, after, of)
			}
		}
	}
}
