package query

import (
	"cmp"
	"slices"

	"github.com/onefold/onefold/analytics/report"
	"github.com/onefold/onefold/internal/decimal"
)

// Sort sorts the list by a column of a breakdown, ascending or not. Values without a value of the column
// are last in either order. If there is no such column, the list is sorted by the count that suits the
// dimension, most first.
func (v *Values) Sort(column string, ascending bool) {
	compare, ok := columns[column]
	slices.SortStableFunc(v.List, func(x, y Value) int {
		if !ok {
			return cmp.Compare(v.counted(&y.Row), v.counted(&x.Row))
		}
		by, missing := compare(&x.Row, &y.Row)
		if !ascending && !missing {
			by = -by
		}
		return by
	})
}

// columns compares rows by each column, ascending. missing reports that a row has no value of the
// column; that row is then the later one.
var columns = map[string]func(x, y *report.Row) (by int, missing bool){
	"value":      func(x, y *report.Row) (int, bool) { return cmp.Compare(x.Value, y.Value), false },
	"visitors":   func(x, y *report.Row) (int, bool) { return cmp.Compare(x.Visitors, y.Visitors), false },
	"visits":     func(x, y *report.Row) (int, bool) { return cmp.Compare(x.Visits, y.Visits), false },
	"pageViews":  func(x, y *report.Row) (int, bool) { return cmp.Compare(x.PageViews, y.PageViews), false },
	"events":     func(x, y *report.Row) (int, bool) { return cmp.Compare(x.Events, y.Events), false },
	"revenue":    func(x, y *report.Row) (int, bool) { return decimal.Compare(x.Revenue, y.Revenue), false },
	"bounceRate": func(x, y *report.Row) (int, bool) { return compareKnown(x.BounceRate, y.BounceRate) },
	"duration":   func(x, y *report.Row) (int, bool) { return compareKnown(x.Duration, y.Duration) },
	"scrollDepth": func(x, y *report.Row) (int, bool) {
		return compareKnown(x.ScrollDepth, y.ScrollDepth)
	},
	"engagedPerVisit": func(x, y *report.Row) (int, bool) { return cmp.Compare(engaged(x), engaged(y)), false },
}

func compareKnown(x, y *float64) (by int, missing bool) {
	switch {
	case x == nil && y == nil:
		return 0, true
	case x == nil:
		return 1, true
	case y == nil:
		return -1, true
	}
	return cmp.Compare(*x, *y), false
}

// engaged returns the average time that a visit attended to a page, in seconds.
func engaged(r *report.Row) float64 { return r.EngagedSeconds / float64(max(1, r.Visits)) }
