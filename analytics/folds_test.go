package analytics

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/onefold/onefold/analytics/internal/tally"
	"github.com/onefold/onefold/analytics/internal/visits"
	"github.com/onefold/onefold/analytics/internal/vitals"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/internal/calendar"
	"github.com/onefold/onefold/internal/decimal"
)

// expected computes from raw events, without any merging, what the derived items of a site must be.
type expected struct {
	stats      map[string]Stats
	breakdowns map[Dimension]map[string]tally.Values
	sessions   map[string]Session
	visitors   map[string]map[string]bool // by hour
}

func expectedOf(t *testing.T, events []*Event) *expected {
	r := &expected{
		stats: map[string]Stats{}, breakdowns: map[Dimension]map[string]tally.Values{},
		sessions: map[string]Session{}, visitors: map[string]map[string]bool{},
	}
	byVisitor := map[VisitorKey][]*Event{}
	var scrolls []*Event
	for _, e := range events {
		ms := e.ms(t)
		hour := nameOfHour(calendar.HourOf(ms, e.ZoneMinutes))
		r.event(e, hour)
		if e.silent() {
			scrolls = append(scrolls, e)
			continue
		}
		k := VisitorKey{e.SiteID, e.VisitorShard, e.VisitorID, calendar.DayOf(ms, e.ZoneMinutes)}
		byVisitor[k] = append(byVisitor[k], e)
		if r.visitors[hour] == nil {
			r.visitors[hour] = map[string]bool{}
		}
		r.visitors[hour][e.VisitorID] = true
	}
	for k, events := range byVisitor {
		day := modelVisits(t, events)
		r.visitor(k, day)
		r.scrolled(t, k, day, scrolls)
	}
	return r
}

// event counts a single event. For an event that was taken back, only its hour exists.
func (r *expected) event(e *Event, hour string) {
	r.change(hour, func(*Stats) {})
	if e.Erased {
		return
	}
	if e.silent() {
		r.change(hour, func(s *Stats) { s.EngagedMS += e.EngagedMS })
		if e.EngagedMS != 0 {
			r.add(ByPage, hour, e.Path, tally.Count{EngagedMS: e.EngagedMS})
		}
		r.measured(e, hour)
		return
	}
	c := tally.Count{PageViews: 1, Revenue: e.Revenue}
	if e.Name != "" {
		c.PageViews, c.Events = 0, 1
		r.add(ByEventName, hour, e.Name, c)
	} else {
		r.add(ByPage, hour, e.Path, tally.Count{PageViews: 1})
	}
	for _, name := range e.Counted {
		r.add(ByProperty(name), hour, e.Properties[name], c)
	}
	r.change(hour, func(s *Stats) {
		s.Revenue = decimal.Add(s.Revenue, e.Revenue)
		s.Events += c.Events
		s.PageViews += c.PageViews
	})
}

// measured counts the vitals of a page load.
func (r *expected) measured(e *Event, hour string) {
	c := tally.Count{Events: 1}
	for m, value := range map[vitals.Metric]*float64{vitals.LCP: &e.LCP, vitals.INP: &e.INP, vitals.CLS: e.CLS} {
		if value != nil && (*value != 0 || m == vitals.CLS) {
			c.Vitals = vitals.Of(m, *value).Plus(c.Vitals, +1)
		}
	}
	if c.Vitals == "" {
		return
	}
	device := e.Device
	if device == "" {
		device = "(none)"
	}
	r.add("vitals:page", hour, e.Path, c)
	r.add("vitals:device", hour, device, c)
}

// scrolled counts how far a visitor scrolled on each page.
func (r *expected) scrolled(t *testing.T, k VisitorKey, day visits.List, all []*Event) {
	deepest := map[string]int64{}
	for _, e := range all {
		if e.VisitorID == k.VisitorID && calendar.DayOf(e.ms(t), e.ZoneMinutes) == k.Day {
			deepest[e.Path] = max(deepest[e.Path], int64(e.Scroll))
		}
	}
	for path, percent := range deepest {
		first := slices.IndexFunc(day, func(v visits.Visit) bool { return slices.Contains(v.Pages, path) })
		if percent > 0 {
			r.add(ByPage, nameOfHour(day[max(first, 0)].StartHour()), path, tally.Count{Scrolls: 1, Scroll: percent})
		}
	}
}

func nameOfHour(hour int64) string { return time.Unix(hour, 0).UTC().Format(calendar.HourLayout) }

func (r *expected) change(hour string, f func(*Stats)) {
	s := r.stats[hour]
	f(&s)
	r.stats[hour] = s
}

func (r *expected) add(d Dimension, hour, value string, c tally.Count) {
	if value == "" {
		return
	}
	if r.breakdowns[d] == nil {
		r.breakdowns[d] = map[string]tally.Values{}
	}
	values := r.breakdowns[d][hour]
	values.Add(value, c)
	r.breakdowns[d][hour] = values
}

func (r *expected) visitor(k VisitorKey, day visits.List) {
	for i := range day {
		v := &day[i]
		hour := nameOfHour(v.StartHour())
		r.change(hour, func(s *Stats) {
			if i == 0 {
				s.NewVisitors++
			}
			s.Visits++
			s.Seconds += (v.End - v.Start) / 1000
			if v.Views() == 1 && v.Events == 0 {
				s.Bounces++
			}
		})
		conversions := int64(0)
		for _, g := range v.Goals {
			c := tally.Count{Events: g.Count, Visits: 1, Revenue: g.Revenue}
			if g.Once {
				c.Events, c.Revenue = 1, g.Value
			}
			r.add(ByGoal, hour, g.Goal, c)
			conversions += c.Events
		}
		r.change(hour, func(s *Stats) { s.Conversions += conversions })
		for _, p := range v.Pages {
			r.add(ByPage, hour, p, tally.Count{Visits: 1})
		}
		whole := tally.Count{Visits: 1, Seconds: (v.End - v.Start) / 1000, Revenue: v.Revenue}
		if v.Views() == 1 && v.Events == 0 {
			whole.Bounces = 1
		}
		for _, d := range visits.Dimensions {
			value := *d.Of(v)
			r.add(d.Name, hour, value, whole)
			for _, h := range v.Hours {
				if h.Views > 0 {
					r.add(d.Name, nameOfHour(h.Hour), value, tally.Count{PageViews: h.Views})
				}
			}
		}
		r.sessions[sessionID(&k, v)] = Session{
			Start: v.Start, End: v.End, PageViews: v.Views(), Events: v.Events, EntryPath: v.Entry.Path, ExitPath: v.Exit.Path,
			UserID: v.UserID, Revenue: v.Revenue, Conversions: conversions, Traits: v.Traits, VisitorID: k.VisitorID, VisitorShard: k.Shard, Day: k.Day,
		}
	}
}

// checkFolded compares all derived items with a recount of the raw events.
func (w *world) checkFolded(s Site, from, to time.Time) {
	w.Helper()
	want := expectedOf(w.T, w.events(s, from, to))
	got := w.hours(s)
	if !slices.Equal(slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want.stats))) {
		w.Fatalf("hours: got %v, want %v", slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want.stats)))
	}
	var total, folded Stats
	for hour, h := range got {
		active := int64(len(want.visitors[hour]))
		if h.ActiveVisitors != active || h.Active.Count() != active {
			w.Errorf("%s: %d active visitors, sketch %d; want %d", hour, h.ActiveVisitors, h.Active.Count(), active)
		}
		if got, want := plainStats(h), want.stats[hour]; !equalStats(got, want) {
			w.Errorf("%s:\n got %+v\nwant %+v", hour, got, want)
		}
		total.Merge(ptr(want.stats[hour]))
		folded.Merge(ptr(plainStats(h)))
	}
	w.checkBreakdowns(s, want, total)
	w.checkSessions(s, want)
	if w.Failed() {
		w.FailNow()
	}
}

func ptr[T any](v T) *T { return &v }

// plainStats removes the fields that a recount does not compute.
func plainStats(s Stats) Stats {
	s.StatsKey, s.Arrivals, s.Day, s.Active, s.ActiveVisitors = StatsKey{}, Arrivals{}, "", nil, 0
	return s
}

func equalStats(a, b Stats) bool {
	return a.PageViews == b.PageViews && a.Events == b.Events && a.NewVisitors == b.NewVisitors && a.Visits == b.Visits &&
		a.Bounces == b.Bounces && a.Seconds == b.Seconds && a.Revenue == b.Revenue && a.Conversions == b.Conversions && a.EngagedMS == b.EngagedMS
}

func (w *world) checkBreakdowns(s Site, want *expected, total Stats) {
	w.Helper()
	for _, d := range s.Breakdowns() {
		got := w.breakdowns(s, d)
		if !slices.Equal(slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want.breakdowns[d]))) {
			w.Errorf("%s: got hours %v, want %v", d, slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want.breakdowns[d])))
		}
		var sum tally.Count
		for hour, b := range got {
			if !maps.Equal(b.Values, want.breakdowns[d][hour]) || b.Other != (tally.Count{}) {
				w.Errorf("%s %s:\n got %v\nwant %v", d, hour, b.Values, want.breakdowns[d][hour])
			}
			sum = sum.Plus(b.Values.Sum()).Plus(b.Other)
		}
		switch d { // every page view, visit or event has a value of these dimensions
		case ByPage:
			sum.Visits = total.Visits // a visit has many pages
			fallthrough
		case ByChannel, ByBrowser, ByLanguage, ByDevice:
			if sum.PageViews != total.PageViews || sum.Visits != total.Visits {
				w.Errorf("%s adds up to %+v, the hours to %d page views and %d visits", d, sum, total.PageViews, total.Visits)
			}
		case ByEventName:
			if sum.Events != total.Events || sum.Revenue != total.Revenue {
				w.Errorf("%s adds up to %+v, the hours to %d events", d, sum, total.Events)
			}
		case ByGoal:
			if sum.Events != total.Conversions {
				w.Errorf("%s adds up to %+v, the hours to %d conversions", d, sum, total.Conversions)
			}
		default:
			if sum.PageViews > total.PageViews || sum.Visits > total.Visits {
				w.Errorf("%s adds up to %+v, more than %d page views and %d visits", d, sum, total.PageViews, total.Visits)
			}
		}
	}
}

func (w *world) checkSessions(s Site, want *expected) {
	w.Helper()
	seen := 0
	for got, err := range RecentSessions(w.Ctx, w.Table, s.SiteID) {
		w.Must(err)
		seen++
		got.Arrivals = Arrivals{}
		id := got.SessionID
		got.SessionKey = SessionKey{}
		if got != want.sessions[id] {
			w.Errorf("session %s:\n got %+v\nwant %+v", id, got, want.sessions[id])
		}
	}
	if seen != len(want.sessions) {
		w.Errorf("%d sessions, want %d", seen, len(want.sessions))
	}
}

// TestFoldsMatchRecount sends events out of order, late, repeatedly and in batches of any
// size, runs folds at any time in between, and restarts them. Then it compares all derived items
// with a recount. The days include clock changes.
func TestFoldsMatchRecount(t *testing.T) {
	for _, c := range []struct{ zone, from, to string }{
		{"UTC", "2026-05-12T00:00:00Z", "2026-05-14T00:00:00Z"},
		{"Europe/Berlin", "2026-03-28T12:00:00Z", "2026-03-30T00:00:00Z"},    // the clock goes forward
		{"America/New_York", "2026-10-31T18:00:00Z", "2026-11-02T12:00:00Z"}, // the clock goes back
		{"Asia/Kolkata", "2026-05-12T10:00:00Z", "2026-05-13T20:00:00Z"},     // the UTC offset has half an hour
		{"Australia/Lord_Howe", "2026-04-04T00:00:00Z", "2026-04-06T00:00:00Z"},
	} {
		t.Run(c.zone, func(t *testing.T) {
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			r := rand.New(rand.NewPCG(seed, 4))
			from, to := mustTime(t, c.from), mustTime(t, c.to)
			w := newWorld(t, to.Add(time.Duration(r.IntN(48))*time.Hour))
			s := w.site("site", c.zone)
			hits := drawHits(r, 500, 12, from, to)
			for i := range hits {
				hits[i].Imported = i%3 == 0
			}
			stored := w.sendShuffled(r, s, hits)
			w.Drain()
			if stored != len(hits) || len(w.events(s, from, to)) != len(hits) {
				t.Fatalf("%d of %d stored", stored, len(hits))
			}
			w.checkFolded(s, from, to)
			if dead := w.Worker.Status().DeadLetters; dead != 0 {
				t.Errorf("%d dead letters", dead)
			}
		})
	}
}

func mustTime(t *testing.T, s string) time.Time {
	at, err := time.Parse(time.RFC3339, s)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// sendShuffled sends hits in random order and batches, one in four of them more than once, and
// sometimes runs the folds.
func (w *world) sendShuffled(r *rand.Rand, s Site, hits []Hit) (stored int) {
	w.Helper()
	var queue []Hit
	for _, h := range hits {
		queue = append(queue, h)
		for r.IntN(4) == 0 {
			queue = append(queue, h)
		}
	}
	r.Shuffle(len(queue), func(i, j int) { queue[i], queue[j] = queue[j], queue[i] })
	for len(queue) > 0 {
		n := min(1+r.IntN(60), len(queue))
		for _, o := range w.ingest(s.SiteID, queue[:n]...) {
			switch o.Status {
			case Stored:
				stored++
			case Rejected:
				w.Fatalf("rejected: %s: %s", o.Reason, o.Detail)
			}
		}
		queue = queue[n:]
		switch r.IntN(4) {
		case 0:
			w.Drain()
		case 1:
			w.Restart()
		}
		w.Set(w.Now().Add(time.Duration(r.IntN(300)) * time.Second))
	}
	return stored
}

// TestFoldsBesideIngest runs the folds in two independent workers while several senders send
// events.
func TestFoldsBesideIngest(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	from, to := noon.Add(-24*time.Hour), noon
	w := newWorld(t, to)
	s := w.site("site", "Europe/Paris")
	first := w.Worker
	w.Restart()
	done := make(chan struct{})
	workers, _ := errgroup.WithContext(w.Ctx)
	for _, worker := range []*fold.Worker{first, w.Worker} {
		workers.Go(func() error { return drainUntil(w.Ctx, worker, done) })
	}
	senders, _ := errgroup.WithContext(w.Ctx)
	for i := range uint64(4) {
		senders.Go(func() error {
			r := rand.New(rand.NewPCG(seed, i))
			for range 10 {
				if _, err := w.collector.Ingest(w.Ctx, s.SiteID, drawHits(r, 30, 8, from, to)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	w.Must(senders.Wait())
	close(done)
	w.Must(workers.Wait())
	w.Drain()
	t.Logf("%d conflicts", w.Worker.Status().Conflicts)
	if n := len(w.events(s, from, to)); n != 4*10*30 {
		t.Fatalf("%d events", n)
	}
	w.checkFolded(s, from, to)
}

func drainUntil(ctx context.Context, worker *fold.Worker, done <-chan struct{}) error {
	for {
		if err := worker.Drain(ctx); err != nil {
			return err
		}
		select {
		case <-done:
			return nil
		default:
		}
	}
}
