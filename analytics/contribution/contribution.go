// Package contribution divides the change of a metric between two ranges of days among the values of
// dimensions. It is arithmetic on reports, and reads nothing itself.
//
// A dimension divides a metric if each unit of the metric has one value, or none. The contributions of
// the values then add up to the change, to the unit. So page views are divided by page, but visits are
// not, because a visit has several pages.
package contribution

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/report"
	"github.com/onefold/onefold/internal/decimal"
)

// Metric is a figure whose change is divided.
type Metric string

// The metrics.
const (
	Visits      Metric = "visits"
	PageViews   Metric = "pageviews"
	Events      Metric = "events"
	Conversions Metric = "conversions"
	Revenue     Metric = "total_revenue"
)

// Divides reports whether a dimension divides a metric.
func (m Metric) Divides(by analytics.Dimension) bool {
	switch m {
	case Events:
		return by == analytics.ByEventName
	case Conversions:
		return by == analytics.ByGoal
	case PageViews:
		return by == analytics.ByPage || analytics.OfVisit(by)
	}
	return analytics.OfVisit(by)
}

// Amount is an exact number: an integer, or an amount of money. "" is zero.
type Amount string

// Float returns the nearest float.
func (a Amount) Float() float64 {
	f, err := strconv.ParseFloat(string(a), 64)
	if err != nil {
		return 0
	}
	return f
}

// Int returns a count. It is 0 for an amount that is not an integer.
func (a Amount) Int() int64 {
	n, err := strconv.ParseInt(string(a), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

func (a Amount) plus(b Amount) Amount { return Amount(decimal.Add(string(a), string(b))) }
func (a Amount) minus(b Amount) Amount {
	return Amount(decimal.Add(string(a), decimal.Times(string(b), -1)))
}

func count(n int64) Amount {
	if n == 0 {
		return ""
	}
	return Amount(strconv.FormatInt(n, 10))
}

func money(text string) Amount {
	if text == "0" {
		return ""
	}
	return Amount(text)
}

func (m Metric) ofTotal(f *report.Figures) Amount {
	switch m {
	case PageViews:
		return count(f.PageViews)
	case Events:
		return count(f.Events)
	case Conversions:
		return count(f.Conversions)
	case Revenue:
		return money(f.Revenue)
	}
	return count(f.Visits)
}

func (m Metric) ofRow(r *report.Row) Amount {
	switch m {
	case PageViews:
		return count(r.PageViews)
	case Events, Conversions:
		return count(r.Events)
	case Revenue:
		return money(r.Revenue)
	}
	return count(r.Visits)
}

// Delta is a number in both ranges.
type Delta struct{ Before, After Amount }

// Difference returns After - Before.
func (d Delta) Difference() Amount { return d.After.minus(d.Before) }

func (d Delta) plus(o Delta) Delta { return Delta{d.Before.plus(o.Before), d.After.plus(o.After)} }

// Part is the contribution of one value.
type Part struct {
	Value string // may be analytics.None or analytics.Other
	Delta
}

// Division divides the change by one dimension. Its parts and Unattributed add up to the total.
type Division struct {
	By    analytics.Dimension
	Parts []Part // largest difference first, up or down
	// Unattributed is the part of days whose values are unknown, as of imported days that did not
	// measure the dimension.
	Unattributed Delta
	// Shift says how much of the metric moved between values, beyond what follows from the change of
	// the total: 0 if all values changed alike.
	Shift float64
}

// Side is one of the two ranges.
type Side struct {
	Totals report.Figures
	Rows   map[analytics.Dimension][]report.Row // all rows of each dimension
}

// Of divides the change of a metric by each of the dimensions, which must divide it. Dimensions whose
// values shifted most are first. Dimensions without any value are omitted.
func Of(m Metric, before, after *Side, by []analytics.Dimension) (total Delta, all []Division) {
	total = Delta{m.ofTotal(&before.Totals), m.ofTotal(&after.Totals)}
	for _, d := range by {
		if division := divide(m, d, before.Rows[d], after.Rows[d], total); division.hasValues() {
			all = append(all, division)
		}
	}
	slices.SortStableFunc(all, func(x, y Division) int { return cmp.Compare(y.Shift, x.Shift) })
	return total, all
}

// hasValues reports whether the dimension says more than that there is no value.
func (d *Division) hasValues() bool {
	return slices.ContainsFunc(d.Parts, func(p Part) bool { return p.Value != analytics.None })
}

func divide(m Metric, by analytics.Dimension, before, after []report.Row, total Delta) Division {
	values := map[string]Delta{}
	for i := range before {
		values[before[i].Value] = Delta{Before: m.ofRow(&before[i])}
	}
	for i := range after {
		values[after[i].Value] = Delta{values[after[i].Value].Before, m.ofRow(&after[i])}
	}
	d := Division{By: by}
	var sum Delta
	for value, delta := range values {
		if delta == (Delta{}) {
			continue
		}
		d.Parts = append(d.Parts, Part{value, delta})
		sum = sum.plus(delta)
	}
	d.Unattributed = Delta{total.Before.minus(sum.Before), total.After.minus(sum.After)}
	slices.SortFunc(d.Parts, func(x, y Part) int {
		return cmp.Or(
			cmp.Compare(math.Abs(y.Difference().Float()), math.Abs(x.Difference().Float())),
			cmp.Compare(y.After.Float(), x.After.Float()), cmp.Compare(x.Value, y.Value))
	})
	d.Shift = d.shift(sum)
	return d
}

// shift returns half the sum of how much each value departs from the change that it would have had,
// had all values changed like their sum.
func (d *Division) shift(sum Delta) float64 {
	before := sum.Before.Float()
	if before == 0 {
		return 0
	}
	rate := sum.Difference().Float() / before
	var moved float64
	for _, p := range d.Parts {
		moved += math.Abs(p.Difference().Float() - rate*p.Before.Float())
	}
	return moved / 2
}

// Rest is the sum of the parts that a list leaves out.
func Rest(parts []Part) (sum Delta) {
	for _, p := range parts {
		sum = sum.plus(p.Delta)
	}
	return sum
}
