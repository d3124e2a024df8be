package goals

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/reconcile"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/fold/foldtest"
	"github.com/onefold/onefold/table"
)

var noon = time.Date(2026, 5, 12, 12, 0, 0, 0, time.UTC)

// world is a site with its folds and its own clock.
type world struct {
	*foldtest.World
	collector *analytics.Collector
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{World: foldtest.NewWorld(t, foldtest.Setup{
		Schema: analytics.Schema, Group: analytics.FoldGroup, At: noon,
		Folds: func(*table.Table) []*fold.Fold { return analytics.Folds(analytics.Config{}) },
	})}
	_, err := analytics.CreateSite(w.Ctx, w.Table, analytics.NewSite{ID: "site", TimeZone: "Europe/Berlin"})
	w.Must(err)
	w.collector = analytics.NewCollector(w.Table, analytics.CollectorOptions{})
	return w
}

func (w *world) ingest(hits ...analytics.Hit) {
	w.Helper()
	outcomes, err := w.collector.Ingest(w.Ctx, "site", hits)
	w.Must(err)
	for _, o := range outcomes {
		if o.Status == analytics.Rejected {
			w.Fatalf("%+v", o)
		}
	}
}

func (w *world) backfill() Backfilled {
	w.Helper()
	done, err := Backfill(w.Ctx, w.Table, "site")
	w.Must(err)
	return done
}

// derived returns everything that depends on goals.
func (w *world) derived() map[string]string {
	w.Helper()
	w.Drain()
	d := map[string]string{}
	for s, err := range analytics.StatsByTime.All(w.Ctx, w.Table, analytics.StatsIn{SiteID: "site", Period: analytics.Hour}) {
		w.Must(err)
		d["hour "+s.Start] = fmt.Sprint(s.Conversions)
	}
	for b, err := range analytics.BreakdownByTime.All(w.Ctx, w.Table, analytics.BreakdownIn{SiteID: "site", Period: analytics.Hour, Dimension: analytics.ByGoal}) {
		w.Must(err)
		d["goals "+b.Start] = fmt.Sprint(b.Values)
	}
	sums := map[string]int64{} // session IDs depend on the salt
	for s, err := range analytics.RecentSessions(w.Ctx, w.Table, "site") {
		w.Must(err)
		sums[fmt.Sprint("sessions ", s.Start)] += s.Conversions
	}
	for k, n := range sums {
		d[k] = fmt.Sprint(n)
	}
	return d
}

// checkSame compares what depends on goals.
func (w *world) checkSame(want map[string]string) {
	w.Helper()
	got := w.derived()
	for k := range got {
		if _, ok := want[k]; !ok {
			w.Errorf("%s is %s, should not be", k, got[k])
		}
	}
	for k := range want {
		if got[k] != want[k] {
			w.Errorf("%s is %q, want %q", k, got[k], want[k])
		}
	}
}

func (w *world) checkClean() {
	w.Helper()
	found, err := reconcile.Verify(w.Ctx, w.Table, w.Worker, reconcile.RangeIn{Site: "site", From: "2026-05-08", To: "2026-05-12"}, nil)
	w.Must(err)
	if found.Count > 0 || len(found.Busy) > 0 {
		w.Errorf("%d differences: %+v", found.Count, found.List)
	}
}

// draw generates what visitors do within three days. Visitor IDs depend on a site's own key, so the
// hits bring their sessions.
func draw(r *rand.Rand, n int) []analytics.Hit {
	hits := make([]analytics.Hit, n)
	for i := range hits {
		at := noon.Add(-time.Duration(r.IntN(72*60)) * time.Minute)
		id := ulid.MustNew(ulid.Timestamp(at), nil)
		id[14], id[15] = byte(i>>8), byte(i)
		h := analytics.Hit{
			EventID: id.String(), Address: fmt.Sprint("192.0.2.", r.IntN(6)), UserAgent: "test",
			Path: []string{"/", "/blog/a", "/blog/b/c", "/thanks"}[r.IntN(4)],
		}
		if r.IntN(3) == 0 {
			h.Name, h.Revenue = []string{"order", "signup"}[r.IntN(2)], []string{"", "9.99", "0.5"}[r.IntN(3)]
		}
		if r.IntN(4) == 0 {
			h.SessionID = fmt.Sprint("own", r.IntN(3))
		}
		hits[i] = h
	}
	return hits
}

func goal(id string, with func(*Goal)) Goal {
	g := Goal{GoalKey: analytics.GoalKey{SiteID: "site", GoalID: id}, Name: id}
	with(&g)
	return g
}

var finalGoals = []Goal{
	goal("blog", func(g *Goal) { g.Path, g.Value = "/blog/**", "1.5" }),
	goal("order", func(g *Goal) { g.Event, g.Counting = "order", analytics.EveryTime }),
	goal("thanks", func(g *Goal) { g.Path, g.PathKind = "/th.*s", analytics.RegexpPath }),
}

// TestBackfill creates, changes and deletes goals between and during events, in random order and
// batches. It compares the result with a site that had the goals from the beginning.
func TestBackfill(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	hits := draw(r, 400)
	want := newWorld(t)
	for _, g := range finalGoals {
		_, err := Create(want.Ctx, want.Table, g)
		want.Must(err)
	}
	want.ingest(hits...)

	w := newWorld(t)
	order := r.Perm(len(hits))
	next := func(n int) {
		for ; n > 0 && len(order) > 0; n-- {
			w.ingest(hits[order[0]])
			order = order[1:]
			if r.IntN(20) == 0 {
				w.Drain()
			}
		}
	}
	changes := []func() error{
		func() error { _, err := Create(w.Ctx, w.Table, finalGoals[1]); return err },
		func() error {
			_, err := Create(w.Ctx, w.Table, goal("blog", func(g *Goal) { g.Path, g.Counting = "/blog/*", analytics.EveryTime }))
			return err
		},
		func() error {
			_, err := Create(w.Ctx, w.Table, goal("gone", func(g *Goal) { g.Path = "/" }))
			return err
		},
		func() error {
			_, err := Update(w.Ctx, w.Table, finalGoals[0].GoalKey, func(g *Goal) error {
				g.Path, g.Counting, g.Value = "/blog/**", analytics.OncePerSession, "1.50"
				return nil
			})
			return err
		},
		func() error { return Delete(w.Ctx, w.Table, analytics.GoalKey{SiteID: "site", GoalID: "gone"}) },
		func() error { _, err := Create(w.Ctx, w.Table, finalGoals[2]); return err },
	}
	for _, change := range changes {
		next(r.IntN(80))
		w.Must(change())
		next(r.IntN(20)) // some collectors do not know of the change yet
		if done := w.backfill(); !done.Waiting {
			t.Errorf("it does not wait: %+v", done)
		}
		w.Advance(analytics.SettingsNotice)
		if r.IntN(2) == 0 {
			next(r.IntN(20))
			w.backfill()
		}
	}
	next(len(order))
	t.Logf("%+v", w.backfill())
	if again := w.backfill(); again != (Backfilled{}) {
		t.Errorf("there is more to do: %+v", again)
	}
	w.checkSame(want.derived())
	w.checkClean()
	all, err := analytics.GoalsOfSite.Collect(w.Ctx, w.Table, analytics.SiteIn{SiteID: "site"})
	w.Must(err)
	if len(all) != len(finalGoals) {
		t.Errorf("goals %+v", all)
	}
}

// A backfill while events are sent and folded changes everything exactly once.
func TestBackfillBesideIngest(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 2))
	hits := draw(r, 600)
	w := newWorld(t)
	w.ingest(hits[:300]...)
	for _, g := range finalGoals {
		_, err := Create(w.Ctx, w.Table, g)
		w.Must(err)
	}
	w.Advance(analytics.SettingsNotice)
	done := make(chan error, 1)
	go func() {
		for _, h := range hits[300:] {
			w.Advance(10 * time.Millisecond) // so that a fence is passed although there is always more to read
			if _, err := w.collector.Ingest(w.Ctx, "site", []analytics.Hit{h}); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	folding, stop := context.WithCancel(w.Ctx)
	folded := make(chan error, 1)
	go func() { folded <- w.Worker.Run(folding) }()
	w.backfill()
	w.Must(<-done)
	stop()
	w.Must(<-folded)
	w.Advance(time.Minute) // for everything that waits for a time
	want := newWorld(t)
	for _, g := range finalGoals {
		_, err := Create(want.Ctx, want.Table, g)
		want.Must(err)
	}
	want.ingest(hits...)
	w.checkSame(want.derived())
	w.checkClean()
}

// A backfill does not read events of sealed days, but those of open days before and after them.
func TestSealedDaysAreNotRead(t *testing.T) {
	w := newWorld(t)
	start := w.Now()
	for range 40 {
		w.ingest(analytics.Hit{Path: "/thanks", Address: "1"})
		w.Drain()
		_, err := reconcile.RollUp(w.Ctx, w.Table, "site", w.Now())
		w.Must(err)
		w.Advance(24 * time.Hour)
	}
	w.ingest(analytics.Hit{Path: "/thanks", Address: "1", Imported: true, At: start.AddDate(0, 0, -100)})
	w.Drain()
	_, err := reconcile.RollUp(w.Ctx, w.Table, "site", w.Now())
	w.Must(err)
	_, err = Create(w.Ctx, w.Table, finalGoals[2])
	w.Must(err)
	w.Advance(analytics.SettingsNotice)
	if done := w.backfill(); done != (Backfilled{Goals: 1, Events: 29, Changed: 29, Sealed: 12}) {
		t.Errorf("%+v", done)
	}
}

// Sealed days keep their counts, and the goal tells since when it is counted.
func TestSealedDaysStay(t *testing.T) {
	w := newWorld(t)
	w.ingest(analytics.Hit{Path: "/thanks", Address: "1"})
	w.Drain()
	w.Advance(29*24*time.Hour + time.Hour) // the raw event is kept, but its day is sealed within a day
	w.ingest(analytics.Hit{Path: "/thanks", Address: "1"})
	_, err := Create(w.Ctx, w.Table, finalGoals[2])
	w.Must(err)
	w.Advance(analytics.SettingsNotice)
	if done := w.backfill(); done.Sealed != 1 || done.Changed != 0 && done.Changed != 1 || done.Goals != 1 {
		t.Errorf("%+v", done)
	}
	goals, err := List(w.Ctx, w.Table, "site")
	w.Must(err)
	if goals[0].Since != "2026-05-13" || goals[0].Pending {
		t.Errorf("%+v", goals[0])
	}
	w.Drain()
	results, err := Report(w.Ctx, w.Table, "site", "2026-05-12", "2026-06-30")
	w.Must(err)
	if len(results) != 1 || results[0].Conversions != 1 || results[0].Visits != 1 || results[0].Rate != 0.5 || results[0].Since != "2026-05-13" {
		t.Errorf("%+v", results)
	}
}

func TestReport(t *testing.T) {
	w := newWorld(t)
	for _, g := range finalGoals {
		_, err := Create(w.Ctx, w.Table, g)
		w.Must(err)
	}
	hit := func(visitor, path, name, revenue string) analytics.Hit {
		return analytics.Hit{Path: path, Name: name, Revenue: revenue, Address: visitor, At: noon}
	}
	w.ingest(hit("1", "/blog/a", "", ""), hit("1", "/blog/b", "", ""), hit("1", "/", "order", "10"), hit("1", "/", "order", "0.5"),
		hit("2", "/blog/a", "", ""), hit("3", "/", "", ""), hit("4", "/blog/x", "order", "3"))
	w.Drain()
	results, err := Report(w.Ctx, w.Table, "site", "2026-05-01", "2026-05-31")
	w.Must(err)
	want := []Result{
		{ID: "blog", Name: "blog", Conversions: 2, Visits: 2, Rate: 0.5, Revenue: "3", Pending: true},
		{ID: "order", Name: "order", Conversions: 3, Visits: 2, Rate: 0.5, Revenue: "13.5", Pending: true},
		{ID: "thanks", Name: "thanks", Revenue: "0", Pending: true},
	}
	if !reflect.DeepEqual(results, want) {
		t.Errorf("got  %+v\nwant %+v", results, want)
	}
}

func TestInvalidGoals(t *testing.T) {
	w := newWorld(t)
	for name, g := range map[string]Goal{
		"nothing":  goal("g", func(*Goal) {}),
		"both":     goal("g", func(g *Goal) { g.Path, g.Event = "/", "e" }),
		"name":     goal("g", func(g *Goal) { g.Path, g.Name = "/", "" }),
		"long":     goal("g", func(g *Goal) { g.Path, g.Name = "/", strings.Repeat("n", maxName+1) }),
		"id":       goal("a#b", func(g *Goal) { g.Path = "/" }),
		"kind":     goal("g", func(g *Goal) { g.Path, g.PathKind = "/", "glob" }),
		"counting": goal("g", func(g *Goal) { g.Path, g.Counting = "/", "never" }),
		"regexp":   goal("g", func(g *Goal) { g.Path, g.PathKind = "(", analytics.RegexpPath }),
		"value":    goal("g", func(g *Goal) { g.Path, g.Value = "/", "lots" }),
		"currency": goal("g", func(g *Goal) { g.Path, g.Currency = "/", "USD" }),
	} {
		if _, err := Create(w.Ctx, w.Table, g); !errors.Is(err, ErrGoal) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Create(w.Ctx, w.Table, Goal{GoalKey: analytics.GoalKey{SiteID: "nowhere"}, Name: "n", Path: "/"}); !errors.Is(err, table.ErrNotFound) {
		t.Errorf("no site: %v", err)
	}
	if err := Delete(w.Ctx, w.Table, analytics.GoalKey{SiteID: "site", GoalID: "none"}); !errors.Is(err, table.ErrNotFound) {
		t.Errorf("no goal: %v", err)
	}
	for i := range MaxGoals {
		_, err := Create(w.Ctx, w.Table, goal(fmt.Sprint("g", i), func(g *Goal) { g.Path = "/" }))
		w.Must(err)
	}
	if _, err := Create(w.Ctx, w.Table, finalGoals[0]); !errors.Is(err, ErrGoal) {
		t.Errorf("one more: %v", err)
	}
}
