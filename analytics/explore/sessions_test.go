package explore

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/table"
)

// Every page size gives the same sessions, each once and the latest first. They are the visits that
// the oracle selects.
func TestSessionsAgreeWithTheOracle(t *testing.T) {
	inTwoZones(t, 120, func(w *shop, random *rand.Rand, from, to string) {
		all := w.oracle(from, to)
		for try := range 8 {
			var filters []Filter
			if try > 0 {
				filters = drawFilters(random)
			}
			want := map[string]int{}
			for _, v := range all.filtered(filters).visits {
				want[fmt.Sprint(at(v.events[0]).UnixMilli(), " ", v.events[0].VisitorID, " ", len(v.events))]++
			}
			got, last := map[string]int{}, "~"
			in := SessionsIn{Range: w.between(from, to), Filters: filters, Limit: 1 + random.IntN(40)}
			for {
				page, err := w.x.Sessions(w.ctx, in)
				w.must(err)
				for _, s := range page.Sessions {
					got[fmt.Sprint(s.Start, " ", s.VisitorID, " ", s.PageViews+s.Events)]++
					if s.SessionID >= last {
						w.Errorf("session %s comes after %s", s.SessionID, last)
					}
					last = s.SessionID
				}
				if in.Cursor = page.Cursor; in.Cursor == "" {
					break
				}
			}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				w.Fatalf("filters %v: got %v, want %v", filters, got, want)
			}
		}
	})
}

// Every event is in the timeline of exactly one session, even if sessions of a visitor overlap.
func TestTimelines(t *testing.T) {
	inTwoZones(t, 120, func(w *shop, _ *rand.Rand, from, to string) {
		seen := map[string]bool{}
		page, err := w.x.Sessions(w.ctx, SessionsIn{Range: w.between(from, to), Limit: 1000})
		w.must(err)
		for _, s := range page.Sessions {
			line, err := w.x.Timeline(w.ctx, "shop", s.SessionID)
			w.must(err)
			if int64(len(line.Events)) != s.PageViews+s.Events || len(line.Notes) > 0 {
				w.Errorf("session %s of %d page views and %d events has a timeline of %d: %v", s.SessionID, s.PageViews, s.Events, len(line.Events), line.Notes)
			}
			for i, e := range line.Events {
				if seen[e.EventID] || i > 0 && e.EventID < line.Events[i-1].EventID {
					w.Errorf("event %s is in two timelines, or out of order", e.EventID)
				}
				seen[e.EventID] = true
			}
		}
		events := 0
		for _, v := range w.oracle(from, to).visits {
			events += len(v.events)
		}
		if len(seen) != events {
			w.Errorf("%d events in timelines, want %d", len(seen), events)
		}
	})
}

func TestMissingSessions(t *testing.T) {
	w := newShop(t, "UTC", utc("2026-05-10T12:00"))
	w.ingest(traffic(rand.New(rand.NewPCG(1, 2)), utc("2026-05-09T00:00"), utc("2026-05-10T11:00"), 100)...)
	if _, err := w.x.Timeline(w.ctx, "shop", "01KR7M0000000000000000000"); !errors.Is(err, table.ErrNotFound) {
		t.Errorf("error %v", err)
	}
	if _, err := w.x.Timeline(w.ctx, "other", "x"); !errors.Is(err, table.ErrNotFound) {
		t.Errorf("error %v", err)
	}
	if _, err := w.x.Timeline(w.ctx, "shop", "a#b"); !errors.Is(err, table.ErrKeyValue) {
		t.Errorf("error %v", err)
	}
	if _, err := w.x.Sessions(w.ctx, SessionsIn{Range: w.between("2026-05-09", "2026-05-10"), Cursor: "nonsense"}); !errors.Is(err, table.ErrCursor) {
		t.Errorf("error %v", err)
	}
	page, err := w.x.Sessions(w.ctx, SessionsIn{Range: w.between("2026-05-10", "2026-05-10")})
	w.must(err)
	w.advance(31*24*time.Hour + 2*time.Hour)
	line, err := w.x.Timeline(w.ctx, "shop", page.Sessions[0].SessionID)
	w.must(err)
	if len(line.Events) != 0 || len(line.Notes) != 1 {
		t.Errorf("%d events, notes %v", len(line.Events), line.Notes)
	}
}

func TestSessionsOfAUser(t *testing.T) {
	w := newShop(t, "UTC", utc("2026-05-10T12:00"))
	w.ingest(traffic(rand.New(rand.NewPCG(1, 2)), utc("2026-05-01T00:00"), utc("2026-05-10T11:00"), 900)...)
	_, err := analytics.CreateSite(w.ctx, w.table, analytics.NewSite{ID: "blog"})
	w.must(err)
	_, err = w.collector.Ingest(w.ctx, "blog", []analytics.Hit{{Address: "1", Path: "/", UserID: "user-3"}})
	w.must(err)
	w.must(w.worker.Drain(w.ctx))
	want := 0
	for _, v := range w.oracle("2026-05-01", "2026-05-10").visits {
		if slices.ContainsFunc(v.events, func(e analytics.Event) bool { return e.UserID == "user-3" }) { // each visitor is one user
			want++
		}
	}
	got, cursor := 0, ""
	for {
		page, err := w.x.UserSessions(w.ctx, "shop", "user-3", cursor, 2)
		w.must(err)
		got += len(page.Sessions)
		if cursor = page.Cursor; cursor == "" {
			break
		}
	}
	if got != want || want == 0 {
		t.Errorf("%d sessions, want %d", got, want)
	}
	if _, err := w.x.UserSessions(w.ctx, "shop", "a#b", "", 2); !errors.Is(err, table.ErrKeyValue) {
		t.Errorf("error %v", err)
	}
}
