package past

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/explore"
	"github.com/onefold/onefold/analytics/reconcile"
	"github.com/onefold/onefold/analytics/report"
	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/fold/foldtest"
	"github.com/onefold/onefold/internal/calendar"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/warehouse"
)

// shop is a site on a table whose events expire, with a warehouse.
type shop struct {
	*foldtest.World
	site    analytics.Site
	cal     calendar.Zone
	objects *faulty
	w       *warehouse.Warehouse
	archive *Archive
	x       *explore.Explorer
	alone   *explore.Explorer // without the archive
}

// faulty fails if err is set.
type faulty struct {
	warehouse.Objects
	err error
}

func (f *faulty) Open(ctx context.Context, name string) (warehouse.Object, error) {
	if f.err != nil && strings.HasSuffix(name, ".parquet") {
		return nil, f.err
	}
	return f.Objects.Open(ctx, name)
}

const first, last = "2026-03-27", "2026-03-31" // the 29th has 23 hours in Berlin

func newShop(t *testing.T, large int) *shop {
	t.Helper()
	return newShopOf(t, large, rand.Uint64())
}

func newShopOf(t *testing.T, large int, seed uint64) *shop {
	t.Helper()
	cal, err := calendar.LoadZone("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	start, err := cal.Start(first)
	if err != nil {
		t.Fatal(err)
	}
	_, end, err := cal.Bounds(last)
	if err != nil {
		t.Fatal(err)
	}
	s := &shop{cal: cal, World: foldtest.NewWorld(t, foldtest.Setup{
		Name: "shop", Schema: analytics.Schema, Group: analytics.FoldGroup, At: start, Wrap: func(db *engine.DB) dynamo.API { return explore.Watch(db) },
		Folds: func(*table.Table) []*fold.Fold { return analytics.Folds(analytics.Config{}) },
	})}
	s.site, err = analytics.CreateSite(s.Ctx, s.Table, analytics.NewSite{ID: "shop", Shards: 4, TimeZone: "Europe/Berlin", Retention: analytics.Retention{RawDays: 30}})
	s.Must(err)
	s.Must(analytics.Goals.Create(s.Ctx, s.Table, &analytics.Goal{GoalKey: analytics.GoalKey{SiteID: "shop", GoalID: "buy"}, Name: "Buy", Event: "order", Counting: analytics.EveryTime}))
	dir, err := warehouse.OpenDir(t.TempDir())
	s.Must(err)
	s.objects = &faulty{Objects: dir}
	s.w, err = warehouse.Open(s.Ctx, dir, warehouse.Options{Clock: s.Now})
	s.Must(err)
	s.archive, err = Open(s.Ctx, s.objects, Options{Clock: s.Now})
	s.Must(err)
	s.x = explore.New(s.Table, explore.Options{Archive: s.archive, LargeDay: large})
	s.alone = explore.New(s.Table, explore.Options{})
	t.Logf("seed %d", seed)
	s.visit(rand.New(rand.NewPCG(seed, 1)), start, end)
	return s
}

// visit generates visits, with each day's visits made on that day.
func (s *shop) visit(random *rand.Rand, start, end time.Time) {
	pick := func(of ...string) string { return of[random.IntN(len(of))] }
	collector := analytics.NewCollector(s.Table, analytics.CollectorOptions{})
	for at := start; at.Before(end); at = at.Add(time.Duration(1+random.IntN(1200)) * time.Second) {
		s.Set(at)
		visitor := random.IntN(20)
		h := analytics.Hit{
			At: at, Address: fmt.Sprintf("10.0.0.%d", visitor), UserAgent: "test", Path: pick("/", "/a", "/b", "/blog/1"),
			Client: analytics.Client{Country: []string{"DE", "FR", ""}[visitor%3], Browser: pick("Firefox", "Chrome")}, Referrer: pick("", "https://www.google.com/"), Properties: map[string]string{"plan": pick("free", `"p'ro"`)},
		}
		if visitor%4 == 0 {
			h.UserID = fmt.Sprint("user-", visitor)
		}
		if visitor%5 == 0 {
			h.SessionID = pick("s1", "s2")
		}
		switch random.IntN(8) {
		case 0:
			h.Name, h.Revenue = "order", pick("1.25", "0.10")
		case 1:
			h.Name, h.EngagedMS, h.Scroll = analytics.EngagementEvent, random.Int64N(90_000), random.IntN(101)
		}
		outcomes, err := collector.Ingest(s.Ctx, "shop", []analytics.Hit{h})
		s.Must(err)
		if outcomes[0].Status != analytics.Stored {
			s.Fatalf("%+v: %+v", h, outcomes[0])
		}
	}
	s.Set(end)
	s.Drain()
}

// export writes the events of a range of days to the warehouse, except for some of each day.
func (s *shop) export(first, last string, without int) {
	s.Helper()
	from, err := s.cal.Start(first)
	s.Must(err)
	_, to, err := s.cal.Bounds(last)
	s.Must(err)
	parts := map[warehouse.Partition][]warehouse.Row{}
	for e, err := range analytics.EventsBetween(&s.site, from, to, "").All(s.Ctx, s.Table) {
		s.Must(err)
		row, err := warehouse.NewEventRow(&e, e.ExpiresAt)
		s.Must(err)
		p := warehouse.PartitionOf(warehouse.Events, "shop", row.Time)
		parts[p] = append(parts[p], row)
	}
	entry := &warehouse.Entry{Why: "test"}
	for p, rows := range parts {
		for _, part := range [][]warehouse.Row{rows[without : len(rows)/2], rows[len(rows)/2:]} {
			f, _, err := s.w.WriteFile(s.Ctx, p, warehouse.Sorted(part))
			s.Must(err)
			entry.Add = append(entry.Add, f)
		}
	}
	s.Must(s.w.Commit(s.Ctx, s.w.Version(), entry))
}

// answers returns the answers of an Explorer for the range as text, without their sources.
func (s *shop) answers(x *explore.Explorer) string {
	s.Helper()
	var text strings.Builder
	r := explore.Range{Site: "shop", From: first, To: last}
	note := func(v any, err error) {
		s.Helper()
		s.Must(err)
		b, err := json.Marshal(v)
		s.Must(err)
		text.Write(append(b, '\n'))
	}
	for _, filter := range [][]explore.Filter{
		nil, {{Dimension: analytics.ByCountry, Op: explore.Is, Values: []string{"DE"}}}, {{Dimension: "prop:plan", Op: explore.Is, Values: []string{`"p'ro"`}}},
		{{Dimension: analytics.ByGoal, Op: explore.Is, Values: []string{"buy"}}, {Dimension: analytics.ByEntryPage, Op: explore.IsNot, Values: []string{"/a"}}},
	} {
		for _, by := range []analytics.Dimension{"", analytics.ByPage, analytics.BySource, "prop:plan", analytics.ByEventName} {
			for _, period := range []analytics.Period{analytics.Hour, analytics.Day} {
				report, err := x.Report(s.Ctx, report.Request{Site: "shop", From: first, To: last, Period: period, By: by}, filter)
				note(report.Report, err)
			}
		}
		funnel, err := x.FunnelReport(s.Ctx, explore.FunnelIn{Range: r, FunnelDefinition: explore.FunnelDefinition{Steps: []explore.Step{{Path: "/"}, {Event: "order"}}}, Filters: filter, By: analytics.ByCountry})
		note([]any{funnel.Steps, funnel.Groups}, err)
		retention, err := x.Retention(s.Ctx, explore.RetentionIn{Range: r, Filters: filter, By: "day"})
		note(retention.Cohorts, err)
		ways, err := x.Journeys(s.Ctx, explore.JourneysIn{Range: r, Filters: filter, Page: "/"})
		note([]any{ways.Levels, ways.Links}, err)
		page, err := x.Sessions(s.Ctx, explore.SessionsIn{Range: r, Filters: filter, Limit: 1000})
		for i := range page.Sessions {
			page.Sessions[i].Arrivals = analytics.Arrivals{}
		}
		note(page.Sessions, err)
		for _, kind := range []explore.Kind{explore.Events, explore.Sessions} {
			var sheet bytes.Buffer
			note(nil, x.Export(s.Ctx, explore.ExportIn{Range: r, Filters: filter, Kind: kind, Format: explore.CSV}, &sheet))
			text.Write(sheet.Bytes())
		}
	}
	return text.String()
}

func (s *shop) same(what, got, want string) {
	s.Helper()
	if got == want {
		return
	}
	a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			s.Fatalf("%s: line %d is\n%.2000s\nwas\n%.2000s", what, i, a[i], b[i])
		}
	}
	s.Fatalf("%s: %d lines, %d before", what, len(a), len(b))
}

func (s *shop) report(x *explore.Explorer) (explore.Report, error) {
	return x.Report(s.Ctx, report.Request{Site: "shop", From: first, To: last}, []explore.Filter{{Dimension: analytics.ByCountry, Op: explore.Is, Values: []string{"DE"}}})
}

// expire lets time pass until raw events have expired, or sessions too.
func (s *shop) expire(days int) {
	s.Helper()
	_, err := reconcile.RollUp(s.Ctx, s.Table, "shop", s.Now())
	s.Must(err)
	s.Drain()
	s.Advance(time.Duration(days) * 24 * time.Hour)
	_, err = reconcile.RollUp(s.Ctx, s.Table, "shop", s.Now())
	s.Must(err)
	s.Drain()
}

// Filters, funnels, journeys, sessions and retention give the same answers after some events, all
// events, and the sessions too have expired. The answers also tell their source.
func TestAnswersOutliveEvents(t *testing.T) {
	s := newShop(t, 1<<30)
	want := s.answers(s.alone)
	s.export(first, last, 0)
	s.same("while events are there", s.answers(s.x), want)
	if r, err := s.report(s.x); err != nil || r.Source != explore.FromRaw || len(r.Notes) > 0 {
		t.Errorf("%s, %v, %v", r.Source, r.Notes, err)
	}
	for _, days := range []int{28, 5, 70} { // of the first day or two, of all days, and sessions
		s.expire(days)
		s.same(fmt.Sprintf("%d days later", days), s.answers(s.x), want)
		r, err := s.report(s.x)
		if err != nil || r.Source != explore.FromArchive || len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "were read from the warehouse") {
			t.Errorf("%s, %v, %v", r.Source, r.Notes, err)
		}
	}
	if _, err := s.report(s.alone); !errors.Is(err, explore.ErrGone) {
		t.Errorf("there is nothing to outlive: %v", err)
	}
}

// A timeline is complete although its events have expired, and so has the visitor's day, which
// assigns each event to one of two overlapping visits. With the first seed, a client's own sessions
// overlap.
func TestTimelineOutlivesEvents(t *testing.T) {
	for _, seed := range []uint64{17479879906993661837, rand.Uint64()} {
		timelineOutlives(t, newShopOf(t, 0, seed))
	}
}

func timelineOutlives(t *testing.T, s *shop) {
	t.Helper()
	s.export(first, last, 0)
	page, err := s.x.Sessions(s.Ctx, explore.SessionsIn{Range: explore.Range{Site: "shop", From: first, To: last}, Limit: 30})
	s.Must(err)
	told := func() (lines []string) {
		for _, session := range page.Sessions {
			line, err := s.x.Timeline(s.Ctx, "shop", session.SessionID)
			s.Must(err)
			for i := range line.Events {
				line.Events[i].ExpiresAt = time.Time{} // the warehouse keeps them longer
			}
			b, err := json.Marshal([]any{line.Events, line.Notes})
			s.Must(err)
			lines = append(lines, string(b))
		}
		return lines
	}
	want := told()
	s.expire(40)
	for i, line := range told() {
		if line != want[i] {
			t.Errorf("got\n%s\nwas\n%s", line, want[i])
		}
	}
}

// A day that the warehouse has only in part is not answered as if it were complete, and an
// unreadable warehouse is reported.
func TestPartsAreNotTakenForAll(t *testing.T) {
	s := newShop(t, 0)
	s.export(first, "2026-03-28", 0)
	s.export("2026-03-30", "2026-03-30", 3)
	s.expire(40)
	r, err := s.report(s.x)
	if err != nil || len(r.Notes) != 2 || !strings.Contains(r.Notes[0], "Events of 2026-03-29 to 2026-03-31 have expired") || !strings.Contains(r.Notes[1], "2026-03-27 to 2026-03-28 were read from the warehouse") {
		t.Errorf("%v, %v", r.Notes, err)
	}
	s.objects.err = errors.New("away")
	other, err := Open(s.Ctx, s.objects, Options{Clock: s.Now})
	s.Must(err)
	if _, err := s.report(explore.New(s.Table, explore.Options{Archive: other})); !errors.Is(err, s.objects.err) {
		t.Errorf("%v", err)
	}
}

// Large days are read from the warehouse while it has all of them, but not if it has only a part.
func TestLargeDays(t *testing.T) {
	s := newShop(t, 100)
	want := s.answers(s.alone)
	s.Advance(30 * time.Hour)
	_, err := reconcile.RollUp(s.Ctx, s.Table, "shop", s.Now())
	s.Must(err)
	s.Drain()
	s.export(first, "2026-03-28", 0)
	s.export("2026-03-30", "2026-03-30", 3)
	s.same("large days", s.answers(s.x), want)
	r, err := s.report(s.x)
	if err != nil || r.Source != explore.FromArchive || !strings.Contains(r.Notes[0], "2026-03-27 to 2026-03-28 were") {
		t.Errorf("%s, %v, %v", r.Source, r.Notes, err)
	}
}
