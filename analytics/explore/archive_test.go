package explore

import (
	"context"
	"errors"
	"iter"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/reconcile"
	"github.com/onefold/onefold/analytics/report"
)

// shoebox is an in-memory archive.
type shoebox struct {
	events  []analytics.Event
	version uint64
	reads   int
	err     error
}

func (s *shoebox) Holds(_ context.Context, _ string, from, to time.Time) (h ArchiveCounts, err error) {
	h.Version = s.version
	for _, e := range s.events {
		switch at := at(e); {
		case at.Before(from) || !at.Before(to) || silent(&e):
		case e.Name == "":
			h.PageViews++
		default:
			h.Events++
		}
	}
	return h, s.err
}

func (s *shoebox) Events(_ context.Context, _ string, from, to time.Time) iter.Seq2[*analytics.Event, error] {
	s.reads++
	return func(yield func(*analytics.Event, error) bool) {
		for _, e := range s.events {
			if at := at(e); !at.Before(from) && at.Before(to) && !yield(&e, nil) {
				return
			}
		}
	}
}

// Expired days are answered from the archive if it has all of their events. Days are kept until the
// archive's version changes.
func TestArchive(t *testing.T) {
	w := newShop(t, "Europe/Berlin", utc("2026-05-10T12:00"))
	w.ingest(traffic(rand.New(rand.NewPCG(1, 2)), utc("2026-05-01T00:00"), utc("2026-05-10T11:00"), 300)...)
	w.rollUp()
	in := report.Request{Site: "shop", From: "2026-05-01", To: "2026-05-09", By: analytics.ByPage}
	filters := []Filter{{Dimension: analytics.ByBrowser, Op: Is, Values: []string{"Firefox"}}}
	want, err := w.x.Report(w.ctx, in, filters)
	w.must(err)
	box := &shoebox{}
	box.events, err = analytics.EventsBetween(&w.site, utc("2026-04-30T00:00"), utc("2026-05-11T00:00"), "").Collect(w.ctx, w.table)
	w.must(err)
	w.advance(40 * 24 * time.Hour)
	ask := func(what string, same bool) {
		w.x.cubes = map[string]*cube{}
		got, err := w.x.Report(w.ctx, in, filters)
		if !same {
			if !errors.Is(err, ErrGone) {
				t.Errorf("%s: %v", what, err)
			}
			return
		}
		w.must(err)
		if plain(got.Totals.Figures) != plain(want.Totals.Figures) || rowsText(in.By, got.Top) != rowsText(in.By, want.Top) || got.Source != FromArchive ||
			len(got.Notes) != 1 || !strings.Contains(got.Notes[0], "2026-05-01 to 2026-05-09 were read from the warehouse") {
			t.Errorf("%s: %+v, %s, %v; was %+v", what, got.Totals, got.Source, got.Notes, want.Totals)
		}
	}
	ask("no archive", false)
	w.x = New(w.table, Options{Archive: box})
	ask("from the archive", true)
	reads := box.reads
	ask("again", true)
	if box.reads != reads || reads != 9 {
		t.Errorf("%d days were read, then %d more", reads, box.reads-reads)
	}
	box.version++
	ask("of another version", true)
	if box.reads != 2*reads {
		t.Errorf("%d days were read", box.reads-reads)
	}
	_, err = reconcile.RollUp(w.ctx, w.table, "shop", w.now())
	w.must(err)
	all := box.events
	box.events = nil
	for i, e := range all {
		if i%2 == 0 {
			box.events = append(box.events, e)
		}
	}
	ask("of a half", false)
	box.err = errors.New("away")
	if _, err := w.x.Report(w.ctx, in, nil); !errors.Is(err, box.err) || !errors.Is(err, ErrArchive) {
		t.Errorf("of an archive that is away: %v", err)
	}
	w.x = New(w.table, Options{Archive: box, LargeDay: 1})
	w.ingest(traffic(rand.New(rand.NewPCG(3, 4)), w.now().Add(-4*24*time.Hour), w.now(), 50)...)
	w.rollUp()
	recent := report.Request{Site: "shop", From: "2026-06-16", To: "2026-06-19", By: analytics.ByPage}
	if got, err := w.x.Report(w.ctx, recent, filters); err != nil || got.Source != FromRaw || got.Totals.Visits == 0 {
		t.Errorf("of days that the table has, too, while the archive is away: %+v, %v", got, err)
	}
}
