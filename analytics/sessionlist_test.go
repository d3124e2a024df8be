package analytics

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/internal/seeds"
	"github.com/onefold/onefold/table"
)

// Lists of sessions, complete or of any range, from either end, have exactly the sessions of the
// visitors in the log, in order. They cover several days, shards and pages. Some events come late,
// in any order, and join two sessions.
func TestSessionLists(t *testing.T) {
	seeds.Run(t, 6, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 0))
		w := newWorld(t, noon)
		site := w.site("site", []string{"UTC", "Asia/Kathmandu", "America/Los_Angeles"}[r.IntN(3)])
		hits := drawHits(r, 300, 1+r.IntN(20), noon.Add(-70*time.Hour), noon)
		for len(hits) > 0 {
			n := min(1+r.IntN(60), len(hits))
			w.ingest("site", hits[:n]...)
			if hits = hits[n:]; r.IntN(4) > 0 {
				w.Drain()
			}
			if r.IntN(4) == 0 {
				w.Restart()
			}
		}
		w.Drain()
		want := w.loggedSessions(&site)
		all, err := SessionsOfSite(&site)
		w.Must(err)
		w.sameSessions("all", all, want)
		for range 20 {
			in := all
			if r.IntN(4) > 0 {
				in.From = FirstID(noon.Add(-time.Duration(r.Int64N(int64(80 * time.Hour)))))
			}
			if r.IntN(2) == 0 {
				in.To = FirstID(noon.Add(-time.Duration(r.Int64N(int64(80 * time.Hour)))))
			} else if len(want) > 0 {
				in.To = want[r.IntN(len(want))].SessionID
			}
			w.sameSessions(in.From+" to "+in.To, in, slices.DeleteFunc(slices.Clone(want), func(s Session) bool { return s.SessionID < in.From || s.SessionID >= in.To }))
		}
		for _, s := range want {
			if got, err := GetSession(w.Ctx, w.Table, &site, s.SessionID); err != nil || got != s {
				t.Errorf("session %s: %+v, %v", s.SessionID, got, err)
			}
		}
	})
}

// loggedSessions returns the sessions of all visitors, ordered by start.
func (w *world) loggedSessions(site *Site) (all []Session) {
	w.Helper()
	for day := noon.Add(-5 * 24 * time.Hour); day.Before(noon.Add(48 * time.Hour)); day = day.Add(24 * time.Hour) {
		for shard := range testShards {
			like := Visitor{VisitorKey: VisitorKey{site.SiteID, shard, "any", day.Format(time.DateOnly)}}
			for v, err := range VisitLog.All(w.Ctx, w.Table, like, w.Must) {
				w.Must(err)
				all = append(all, sessionsOf(&v.State)...)
			}
		}
	}
	slices.SortFunc(all, func(a, b Session) int { return strings.Compare(a.SessionID, b.SessionID) })
	return all
}

// sameSessions compares both lists of a range.
func (w *world) sameSessions(what string, in SessionsIn, want []Session) {
	w.Helper()
	if got := w.sessions(in.All(w.Ctx, w.Table)); !slices.Equal(got, want) {
		w.Errorf("%s: %d sessions, want %d, or others, or not in order", what, len(got), len(want))
	}
	latest := w.sessions(in.Latest(w.Ctx, w.Table))
	slices.Reverse(latest)
	if !slices.Equal(latest, want) {
		w.Errorf("%s, the latest first: %d sessions, want %d, or others, or not in order", what, len(latest), len(want))
	}
}

// A damaged page costs only its own sessions, and is reported.
func TestDamagedVisits(t *testing.T) {
	w := newWorld(t, noon)
	site := w.site("site", "UTC")
	w.ingest("site", Hit{At: noon.Add(-2 * time.Hour), Path: "/lost", Address: "1"})
	w.Drain()
	lost := w.loggedSessions(&site)[0]
	w.ingest("site", Hit{At: noon.Add(-time.Hour), Path: "/kept", Address: "2"})
	w.Drain()
	p, err := VisitPages.Get(w.Ctx, w.Table, VisitsKey{"site", lost.VisitorShard, lost.Day, 0})
	w.Must(err)
	p.States[len(p.States)/2] ^= 1
	w.Must(VisitPages.Put(w.Ctx, w.Table, &p))
	in, err := SessionsOfSite(&site)
	w.Must(err)
	damaged := 0
	in.Damaged = func(err error) {
		if damaged++; !errors.Is(err, fold.ErrPage) {
			t.Error(err)
		}
	}
	if got := w.sessions(in.Latest(w.Ctx, w.Table)); len(got) != 1 || got[0].EntryPath != "/kept" || damaged != 1 {
		t.Errorf("%d damaged pages, sessions %+v", damaged, got)
	}
	if _, err := GetSession(w.Ctx, w.Table, &site, lost.SessionID); !errors.Is(err, fold.ErrPage) || errors.Is(err, table.ErrNotFound) {
		t.Errorf("a session of the damaged page: %v", err)
	}
}
