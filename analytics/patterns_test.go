package analytics

import (
	"errors"
	"maps"

	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/analytics/internal/tally"
	"github.com/onefold/onefold/table"
)

// Every access pattern, tested on one small world.
func TestPatterns(t *testing.T) {
	w := newWorld(t, utc("2026-05-12T12:30"))
	site := w.site("shop", "Europe/Berlin")
	page := func(at, who, path string) Hit {
		return Hit{At: utc(at), Address: who, Path: path, UserID: map[string]string{"1": "ann"}[who]}
	}
	w.ingest("shop",
		page("2026-05-12T10:00", "1", "/a"), page("2026-05-12T10:05", "1", "/b"), page("2026-05-12T11:00", "1", "/c"),
		page("2026-05-12T10:02", "2", "/a"), Hit{At: utc("2026-05-12T12:28"), Address: "3", Name: "order"},
	)
	other, err := CreateSite(w.Ctx, w.Table, NewSite{ID: "shop2", OwnerID: "ann"})
	w.Must(err)
	w.ingest(other.SiteID, page("2026-05-12T10:00", "1", "/other"))
	w.Must(Goals.Put(w.Ctx, w.Table, &Goal{GoalKey: GoalKey{"shop", "buy"}, Name: "Buy", Event: "order"}))
	w.Drain()

	t.Run("W1", func(t *testing.T) {
		blocks, err := Pack([]Event{{EventKey: EventKey{"shop", 0, FirstID(utc("2026-05-11T10:00"))}, VisitorID: "v", Path: "/"}}, w.Now())
		w.Must(err)
		w.Must(StoreEvents.Run(w.Ctx, w.Table, &blocks[0]))
		if err := StoreEvents.Run(w.Ctx, w.Table, &blocks[0]); !errors.Is(err, table.ErrExists) {
			t.Errorf("again: %v", err)
		}
	})
	all, err := SessionsOfSite(&site)
	w.Must(err)
	sessions := w.sessions(all.Latest(w.Ctx, w.Table))
	t.Run("W4", func(t *testing.T) {
		if got := entries(sessions); got != "(none) /c /a /a" { // the event of W1 is not folded yet
			t.Errorf("recent sessions begin with %s", got)
		}
		before := all
		before.To = sessions[1].SessionID
		if rest := w.sessions(before.Latest(w.Ctx, w.Table)); entries(rest) != "/a /a" {
			t.Errorf("sessions before the second: %s", entries(rest))
		}
		if again := w.sessions(RecentSessions(w.Ctx, w.Table, "shop")); entries(again) != entries(sessions) {
			t.Errorf("recent sessions: %s", entries(again))
		}
	})
	mine := sessions[3] // the first one to start: 10:00 to 10:05
	t.Run("W4b", func(t *testing.T) {
		in, err := SessionsBetween(&site, utc("2026-05-12T10:01"), utc("2026-05-12T12:00"))
		w.Must(err)
		if got := w.sessions(in.All(w.Ctx, w.Table)); entries(got) != "/a /c" {
			t.Errorf("sessions begin with %s", entries(got))
		}
		if first, err := in.First(w.Ctx, w.Table); err != nil || first.EntryPath != "/a" {
			t.Errorf("the first: %+v, %v", first, err)
		}
	})
	t.Run("W2", func(t *testing.T) {
		events, err := EventsOfSession(&site, &mine).Collect(w.Ctx, w.Table)
		w.Must(err)
		if got := paths(events); got != "/a /b" {
			t.Errorf("events of the session: %s", got)
		}
	})
	t.Run("W3", func(t *testing.T) {
		s, err := GetSession(w.Ctx, w.Table, &site, mine.SessionID)
		w.Must(err)
		if _, err := GetSession(w.Ctx, w.Table, &site, FirstID(utc("2026-05-12T10:00"))); !errors.Is(err, table.ErrNotFound) {
			t.Errorf("a session that is not there: %v", err)
		}
		if s.ExitPath != "/b" || s.PageViews != 2 {
			t.Errorf("session %+v", s)
		}
	})
	t.Run("W5", func(t *testing.T) {
		all, err := SessionsOfUser.Collect(w.Ctx, w.Table, UserIn{"ann"})
		w.Must(err)
		var journey []Session
		for s, err := range UserJourney(w.Ctx, w.Table, "shop", "ann") {
			w.Must(err)
			journey = append(journey, s)
		}
		if len(all) != 3 || entries(journey) != "/c /a" {
			t.Errorf("%d sessions on all sites; on this %s", len(all), entries(journey))
		}
	})
	t.Run("W6", func(t *testing.T) {
		pages, err := VisitPagesOfDay.Collect(w.Ctx, w.Table, DayOfVisitsIn{"shop", mine.VisitorShard, mine.Day})
		w.Must(err)
		v, err := VisitLog.Get(w.Ctx, w.Table, VisitorKey{"shop", mine.VisitorShard, mine.VisitorID, mine.Day})
		if err != nil || len(pages) != 1 || len(v.Visits) != 2 || v.Day != "2026-05-12" {
			t.Errorf("%d pages; the visitor: %+v, %v", len(pages), v, err)
		}
	})
	t.Run("W7", func(t *testing.T) {
		hours, err := StatsByTime.Collect(w.Ctx, w.Table, site.StatsIn(Hour, "2026-05-12T10:00:00Z", "2026-05-12T12:00:00Z"))
		w.Must(err)
		views := map[string]int64{}
		for _, h := range hours { // one item for each shard with events
			views[h.Start] += h.PageViews
		}
		if !maps.Equal(views, map[string]int64{"2026-05-12T10:00:00Z": 3, "2026-05-12T11:00:00Z": 1}) {
			t.Errorf("hours %+v", hours)
		}
	})
	t.Run("W8", func(t *testing.T) {
		hours, err := BreakdownByTime.Collect(w.Ctx, w.Table, site.BreakdownIn(Hour, ByPage, "2026-05-12T10:00:00Z", "2026-05-12T11:00:00Z"))
		w.Must(err)
		var sum Breakdown
		for i := range hours {
			if hours[i].Start != "2026-05-12T10:00:00Z" {
				t.Errorf("hour %+v", hours[i])
			}
			sum.merge(&hours[i])
		}
		if sum.Values["/a"] != (tally.Count{PageViews: 2, Visits: 2}) {
			t.Errorf("hours %+v", hours)
		}
	})
	t.Run("W9", func(t *testing.T) {
		minutes, err := Minutes.Collect(w.Ctx, w.Table, site.LastMinutes(w.Now(), 5))
		w.Must(err)
		if len(minutes) != 1 || minutes[0].Minute != "2026-05-12T12:28" || minutes[0].Events != 1 {
			t.Errorf("minutes %+v", minutes)
		}
		if in := site.LastMinutes(w.Now(), 5); in.From != "2026-05-12T12:26" || in.To != "2026-05-12T12:31" {
			t.Errorf("the last five minutes are %+v", in)
		}
	})
	t.Run("W10", func(t *testing.T) {
		s, err := SiteByID.Get(w.Ctx, w.Table, SiteIn{"shop"})
		w.Must(err)
		owned, err := SitesOfOwner.Collect(w.Ctx, w.Table, OwnerIn{"ann"})
		w.Must(err)
		if s.TimeZone != "Europe/Berlin" || len(owned) != 1 || owned[0].SiteID != "shop2" {
			t.Errorf("site %+v, ann's %+v", s, owned)
		}
	})
	t.Run("W11", func(t *testing.T) {
		for kind, want := range map[EventKind]string{"": "/a /a /b /c order", PageViewsOnly: "/a /a /b /c", CustomEventsOnly: "order"} {
			events, err := EventsBetween(&site, utc("2026-05-12T00:00"), utc("2026-05-13T00:00"), kind).Collect(w.Ctx, w.Table)
			w.Must(err)
			if got := paths(events); got != want {
				t.Errorf("%q: %s, want %s", kind, got, want)
			}
		}
	})
	t.Run("W12", func(t *testing.T) {
		goals, err := GoalsOfSite.Collect(w.Ctx, w.Table, SiteIn{"shop"})
		w.Must(err)
		if len(goals) != 3 || goals[0].Event != "order" {
			t.Errorf("goals %+v", goals)
		}
	})
	t.Run("W13", func(t *testing.T) {
		days, err := DaysToRollUp.Collect(w.Ctx, w.Table, DaysIn{SiteID: "shop"})
		w.Must(err)
		if len(days) != 1 || days[0].Day != "2026-05-12" {
			t.Errorf("days %v", days)
		}
	})
}

func utc(text string) time.Time {
	at, err := time.Parse("2006-01-02T15:04", text)
	if err != nil {
		panic(err)
	}
	return at
}

// entries returns the first pages of sessions.
func entries(sessions []Session) string {
	var out []string
	for _, s := range sessions {
		if s.EntryPath == "" {
			s.EntryPath = None
		}
		out = append(out, s.EntryPath)
	}
	return strings.Join(out, " ")
}

// paths returns the pages or names of events.
func paths(events []Event) string {
	var out []string
	for _, e := range events {
		if e.Name != "" {
			e.Path = e.Name
		}
		out = append(out, e.Path)
	}
	return strings.Join(out, " ")
}

// No pattern scans, and each makes one request per shard.
func TestPatternsExplain(t *testing.T) {
	site := Site{SiteKey: SiteKey{"shop"}, Sharding: table.Shards(4)}
	requests, err := EventsByTime.Explain(EventsBetween(&site, utc("2026-05-12T00:00"), utc("2026-05-13T00:00"), PageViewsOnly).ask())
	if err != nil || len(requests) != 4 {
		t.Fatalf("%d requests, %v", len(requests), err)
	}
	in := EventsOfSession(&site, &Session{SessionKey: SessionKey{"shop", "s"}, Start: utc("2026-05-12T00:00").UnixMilli(), End: utc("2026-05-12T00:05").UnixMilli()})
	if requests, err = SessionEvents.Explain(in.ask()); err != nil || len(requests) != 4 {
		t.Fatalf("%d requests, %v", len(requests), err)
	}
	for _, r := range requests {
		if r.Operation() != "Query" {
			t.Errorf("it asks %s", r)
		}
	}
	if FirstID(time.UnixMilli(1<<48)) <= FirstID(utc("9999-12-31T00:00")) {
		t.Error("a time that no id can have is not after all ids")
	}
}
