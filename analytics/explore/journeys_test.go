package explore

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/internal/calendar"
)

// Journeys match the visits of the oracle: every link, before small pages are grouped, and every
// sum.
func TestJourneysAgreeWithTheOracle(t *testing.T) {
	inTwoZones(t, 300, func(w *shop, random *rand.Rand, from, to string) {
		all := w.oracle(from, to)
		for range 6 {
			in := JourneysIn{Range: w.between(from, to), Page: []string{"/", "/a", "/ü"}[random.IntN(3)], Direction: []Direction{Forward, Back}[random.IntN(2)], Steps: 1 + random.IntN(4)}
			if random.IntN(2) == 0 {
				in.Filters = drawFilters(random)
			}
			want := map[string]int64{}
			visits := int64(0)
			for _, v := range all.filtered(in.Filters).visits {
				if way := oracleWay(&v, in); way != nil {
					visits++
					for i := 1; i < len(way); i++ {
						want[fmt.Sprint(i, way[i-1], "→", way[i])]++
					}
				}
			}
			got, err := w.x.Journeys(w.ctx, in)
			w.must(err)
			w.checkJourneys(got, want, visits, in.Page)
		}
	})
}

func oracleWay(v *oracleVisit, in JourneysIn) []string {
	var pages []string
	for _, e := range v.events {
		if e.Name == "" && (len(pages) == 0 || pages[len(pages)-1] != e.Path) {
			pages = append(pages, e.Path)
		}
	}
	first := slices.Index(pages, in.Page)
	if first < 0 {
		return nil
	}
	way := append(pages[first:], Exit)
	if in.Direction == Back {
		way = slices.Clone(pages[:first+1])
		slices.Reverse(way)
		way = append(way, Entry)
	}
	return way[:min(len(way), in.Steps+1)]
}

func (w *shop) checkJourneys(got Journeys, want map[string]int64, visits int64, page string) {
	w.Helper()
	if visits == 0 {
		if len(got.Levels) > 0 {
			w.Errorf("levels %v of no visits", got.Levels)
		}
		return
	}
	if fmt.Sprint(got.Levels[0]) != fmt.Sprint([]PageVisits{{page, visits}}) {
		w.Errorf("first level %v, want %d visits", got.Levels[0], visits)
	}
	out := map[[2]int]int64{}
	for _, l := range got.Links {
		from, to := got.Levels[l.From[0]][l.From[1]], got.Levels[l.To[0]][l.To[1]]
		if k := fmt.Sprint(l.To[0], from.Page, "→", to.Page); !strings.Contains(k, analytics.Other) && want[k] != l.Visits {
			w.Errorf("%s: %d visits, want %d", k, l.Visits, want[k])
		}
		out[l.To] += l.Visits
	}
	for i, level := range got.Levels[1:] {
		for n, p := range level {
			if out[[2]int{i + 1, n}] != p.Visits {
				w.Errorf("links to %v of level %d have %d visits", p, i+1, out[[2]int{i + 1, n}])
			}
		}
	}
}

func TestJourneysWithManyPaths(t *testing.T) {
	w := newShop(t, "UTC", utc("2026-05-10T12:00"))
	var hits []analytics.Hit
	for i := range 300 {
		for n, path := range []string{"/", fmt.Sprintf("/p/%d", i)} {
			hits = append(hits, analytics.Hit{At: utc("2026-05-10T01:00").Add(time.Duration(n) * time.Second), Imported: true, Address: fmt.Sprint(i), Path: path})
		}
	}
	w.ingest(hits...)
	in := JourneysIn{Range: w.between("2026-05-10", "2026-05-10"), Page: "/"}
	got, err := w.x.Journeys(w.ctx, in)
	w.must(err)
	if len(got.Levels[1]) != 9 || got.Levels[1][8] != (PageVisits{analytics.Other, 292}) || fmt.Sprint(got.Levels[2]) != "[{(exit) 300}]" {
		t.Errorf("levels %v", got.Levels)
	}
	got, err = New(w.table, Options{Values: 10}).Journeys(w.ctx, in)
	w.must(err)
	if got.Levels[0][0].Visits != 10 || len(got.Notes) != 1 {
		t.Errorf("levels %v, notes %v", got.Levels, got.Notes)
	}
	for _, in := range []JourneysIn{{}, {Page: "/", Direction: "up"}, {Page: "/", Steps: 6}} {
		in.Range = w.between("2026-05-10", "2026-05-10")
		if _, err := w.x.Journeys(w.ctx, in); !errors.Is(err, ErrQuestion) {
			t.Errorf("%+v: error %v", in, err)
		}
	}
}

// Retention matches that of the oracle, whether it is computed from sessions or from raw events.
func TestRetentionAgreesWithTheOracle(t *testing.T) {
	inTwoZones(t, 300, func(w *shop, random *rand.Rand, from, to string) {
		all := w.oracle(from, to)
		for _, filters := range [][]Filter{nil, {{Dimension: analytics.ByBrowser, Op: Is, Values: []string{"Firefox"}}}, {{Dimension: analytics.ByPage, Op: Contains, Values: []string{"A"}}}} {
			for by, width := range map[string]int{"day": 1, "week": 7} {
				first := from
				for width == 7 && utc(first+"T00:00").Weekday() != time.Monday {
					first = calendar.ShiftDay(first, -1)
				}
				seen := map[string]map[int]bool{}
				for _, v := range all.filtered(filters).visits {
					for _, e := range v.events {
						if e.UserID != "" && seen[e.UserID] == nil {
							seen[e.UserID] = map[int]bool{}
						}
						if e.UserID != "" {
							seen[e.UserID][calendar.DaysBetween(first, v.day)/width] = true
						}
					}
				}
				want := map[string]int64{}
				for _, at := range seen {
					least := 1000
					for n := range at {
						least = min(least, n)
					}
					for n := range at {
						want[fmt.Sprint(calendar.ShiftDay(first, least*width), " ", n-least)]++
					}
				}
				got, err := w.x.Retention(w.ctx, RetentionIn{Range: w.between(from, to), Filters: filters, By: by})
				w.must(err)
				found := map[string]int64{}
				for _, c := range got.Cohorts {
					if c.Users != c.Returned[0] {
						w.Errorf("%d of %d users were there at first", c.Returned[0], c.Users)
					}
					for n, users := range c.Returned {
						if users > 0 {
							found[fmt.Sprint(c.Start, " ", n)] = users
						}
					}
				}
				if fmt.Sprint(found) != fmt.Sprint(want) || len(want) == 0 {
					w.Errorf("by %s, %v: %v, want %v", by, filters, found, want)
				}
			}
		}
		if _, err := w.x.Retention(w.ctx, RetentionIn{Range: w.between(from, to), Filters: nil, By: "year"}); !errors.Is(err, ErrQuestion) {
			w.Errorf("by year: error %v", err)
		}
		if _, err := New(w.table, Options{Users: 1}).Retention(w.ctx, RetentionIn{Range: w.between(from, to)}); !errors.Is(err, ErrTooMuch) {
			w.Errorf("error %v", err)
		}
	})
}
