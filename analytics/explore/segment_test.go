package explore

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/onefold/onefold/analytics/report"
)

// drawSegments generates a filter that names some segments.
func drawSegments(random *rand.Rand) Filter {
	f := Filter{Dimension: BySegment, Op: []Op{Is, IsNot}[random.IntN(2)]}
	for range 1 + random.IntN(3) {
		f.Values = append(f.Values, "some")
		f.Any = append(f.Any, drawFilters(random))
	}
	return f
}

// inSegments reports whether a visit matches a filter of segments, in the simplest way.
func (v *oracleVisit) inSegments(f *Filter) bool {
	in := false
	for _, segment := range f.Any {
		all := true
		for _, f := range segment {
			all = all && v.selects(f)
		}
		in = in || all
	}
	return in == (f.Op == Is)
}

// Segments select what their filters say, alone, beside other filters, and in lists of sessions.
func TestSegmentsAgreeWithTheOracle(t *testing.T) {
	inTwoZones(t, 400, func(w *shop, random *rand.Rand, from, to string) {
		all := w.oracle(from, to)
		some := 0
		for n := 0; n < 8 || some == 0 && n < 100; n++ {
			f := drawSegments(random)
			filters, want := []Filter{f}, all
			if random.IntN(2) == 0 {
				filters = append(drawFilters(random)[:1], f)
				want = all.filtered(filters[:1])
			}
			in := &oracle{zone: want.zone}
			for i := range want.visits {
				if want.visits[i].inSegments(&f) {
					in.visits = append(in.visits, want.visits[i])
				}
			}
			some += len(in.visits)
			w.checkFigures(in, filters, from, to)
			w.checkRows(in, filters, from, to)
			if got := w.countSessions(filters, from, to); got != len(in.visits) {
				w.Errorf("%d sessions, want %d", got, len(in.visits))
			}
			if w.Failed() {
				w.Fatalf("filters %+v", filters)
			}
		}
		if some == 0 {
			w.Error("no segment selected anything")
		}
	})
}

func (w *shop) countSessions(filters []Filter, from, to string) (n int) {
	w.Helper()
	in := SessionsIn{Range: w.between(from, to), Filters: filters, Limit: maxPage}
	for {
		page, err := w.x.Sessions(w.ctx, in)
		w.must(err)
		n += len(page.Sessions)
		if in.Cursor = page.Cursor; in.Cursor == "" {
			return n
		}
	}
}

// A changed definition is not answered from the counts of the earlier one, which has the same name.
func TestChangedSegment(t *testing.T) {
	w := newShop(t, "UTC", utc("2026-05-10T12:00"))
	w.ingest(traffic(rand.New(rand.NewPCG(1, 2)), utc("2026-05-08T00:00"), utc("2026-05-10T11:00"), 300)...)
	in := report.Request{Site: "shop", From: "2026-05-08", To: "2026-05-10"}
	count := func(browser string) int64 {
		text := "browser:is:" + browser
		filters, err := ParseFilters([]string{text})
		w.must(err)
		plain, err := w.x.Report(w.ctx, in, filters)
		w.must(err)
		named, err := w.x.Report(w.ctx, in, []Filter{{Dimension: BySegment, Op: Is, Values: []string{"same"}, Any: [][]Filter{filters}}})
		w.must(err)
		if plain.Totals.Visits != named.Totals.Visits {
			t.Errorf("%s: %d visits, in a segment %d", text, plain.Totals.Visits, named.Totals.Visits)
		}
		return named.Totals.Visits
	}
	if count("Firefox") == count("Chrome") {
		t.Error("the browsers have equally many visits; choose another seed")
	}
}

func TestInvalidSegmentFilters(t *testing.T) {
	w := newShop(t, "UTC", utc("2026-05-10T12:00"))
	in := report.Request{Site: "shop", From: "2026-05-08", To: "2026-05-10"}
	browser := []Filter{{Dimension: "browser", Op: Is, Values: []string{"Firefox"}}}
	nested := Filter{Dimension: BySegment, Op: Is, Values: []string{"a"}, Any: [][]Filter{browser}}
	for what, f := range map[string]Filter{
		"not expanded": {Dimension: BySegment, Op: Is, Values: []string{"a"}},
		"contains":     {Dimension: BySegment, Op: Contains, Values: []string{"a"}, Any: [][]Filter{browser}},
		"nested":       {Dimension: BySegment, Op: Is, Values: []string{"a"}, Any: [][]Filter{{nested}}},
	} {
		if _, err := w.x.Report(w.ctx, in, []Filter{f}); !errors.Is(err, ErrQuestion) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
