package report

import (
	"cmp"
	"context"
	"slices"

	"github.com/onefold/onefold/analytics"

	"github.com/onefold/onefold/analytics/internal/dimension"
	"github.com/onefold/onefold/analytics/internal/tally"
	"github.com/onefold/onefold/internal/calendar"
	"github.com/onefold/onefold/internal/decimal"
)

// top returns one row for each value of the report's dimension, with its counts over the whole
// range, sorted and limited as requested. It reads the largest stored buckets that cover the range
// (months before days before hours), so that it reads few items. Before the limit, the rows for Other
// and None hold what the values leave of the total.
func (r *reporter) top(ctx context.Context) ([]Row, error) {
	values, other, err := r.values(ctx)
	if err != nil {
		return nil, err
	}
	total, err := r.addImported(ctx, &r.own, values, &other)
	if err != nil {
		return nil, err
	}
	return r.rows(total, values, other), nil
}

// rows returns the rows of values, with what they leave of the total.
func (r *reporter) rows(total *analytics.Stats, values tally.Values, other tally.Count) []Row {
	none := r.none(total, values.Sum().Plus(other))
	values.Add(analytics.Other, other) // Add, not assignment: senders may use these names as values, too
	values.Add(analytics.None, none)
	rows := make([]Row, 0, len(values))
	for v, c := range values {
		rows = appendRow(rows, v, c)
	}
	slices.SortFunc(rows, r.order())
	if r.in.Limit > 0 && len(rows) > r.in.Limit {
		rows = rows[:r.in.Limit]
	}
	return rows
}

func appendRow(rows []Row, value string, c tally.Count) []Row {
	if c == (tally.Count{}) {
		return rows
	}
	row := Row{
		Value: value, PageViews: c.PageViews, Visits: c.Visits, Events: c.Events,
		EngagedSeconds: float64(c.EngagedMS) / 1000, ScrollDepth: ratio(c.Scroll, c.Scrolls), Revenue: c.Revenue,
	}
	if c.Bounces != 0 || c.Seconds != 0 {
		row.BounceRate, row.Duration = ratio(c.Bounces, c.Visits), ratio(c.Seconds, c.Visits)
	}
	return append(rows, row)
}

// ratio returns nil if by is not positive.
func ratio(of, by int64) *float64 {
	if by <= 0 {
		return nil
	}
	r := float64(of) / float64(by)
	return &r
}

// none returns the counts without a value: the totals minus those with a value. Counts are not
// negative even while changes are being folded; revenue can be, because of refunds. A visit is
// counted under each of its pages, so the visits without a page are unknown. Events, goals and
// properties have no such row.
func (r *reporter) none(total *analytics.Stats, sum tally.Count) tally.Count {
	var c tally.Count
	if r.in.By == analytics.ByPage {
		c.PageViews, c.EngagedMS = max(0, total.PageViews-sum.PageViews), max(0, total.EngagedMS-sum.EngagedMS)
		return c
	}
	if !dimension.OfVisit(r.in.By) {
		return c
	}
	c.PageViews = max(0, total.PageViews-sum.PageViews)
	c.Visits = max(0, total.Visits-sum.Visits)
	c.Revenue = decimal.Add(total.Revenue, decimal.Times(sum.Revenue, -1))
	if c.Visits > 0 {
		c.Bounces, c.Seconds = max(0, total.Bounces-sum.Bounces), max(0, total.Seconds-sum.Seconds)
	}
	return c
}

// order returns the order of rows: by page views; by visits for entry and exit pages; by events for
// events and goals. Ties are broken by value last.
func (r *reporter) order() func(a, b Row) int {
	first := func(row Row) int64 { return row.PageViews }
	switch r.in.By {
	case analytics.ByEntryPage, analytics.ByExitPage:
		first = func(row Row) int64 { return row.Visits }
	case analytics.ByEventName, analytics.ByGoal, analytics.ByOutbound, analytics.ByDownload, analytics.ByNotFound:
		first = func(row Row) int64 { return row.Events }
	}
	return func(a, b Row) int {
		return cmp.Or(cmp.Compare(first(b), first(a)), cmp.Compare(b.PageViews, a.PageViews), cmp.Compare(b.Visits, a.Visits), cmp.Compare(a.Value, b.Value))
	}
}

// values adds up the breakdowns of the range.
func (r *reporter) values(ctx context.Context) (tally.Values, tally.Count, error) {
	p := newPlan(r.days, r.fresh, analytics.Month)
	sum := make(tally.Values)
	var other tally.Count
	add := func(period analytics.Period, from, to string, wanted func(start string) bool) error {
		in := r.site.BreakdownIn(period, r.in.By, from, to)
		for b, err := range analytics.BreakdownByTime.All(ctx, r.t, in) {
			if err != nil {
				return err
			}
			if !wanted(b.Start) {
				continue
			}
			for v, c := range b.Values {
				sum.Add(v, c)
			}
			other = other.Plus(b.Other)
		}
		return nil
	}
	for _, s := range monthSpans(p.months) {
		if err := add(analytics.Month, s.From, calendar.MonthAfter(s.To), among(p.months)); err != nil {
			return nil, other, err
		}
	}
	for _, s := range calendar.Spans(p.days, maxSpans) {
		if err := add(analytics.Day, s.From, calendar.ShiftDay(s.To, 1), among(p.days)); err != nil {
			return nil, other, err
		}
	}
	hours := among(r.hoursOf(p.hours))
	for _, s := range calendar.Spans(p.hours, maxSpans) {
		from, to, err := r.cal.HourRange(s.From, s.To)
		if err == nil {
			err = add(analytics.Hour, from, to, hours)
		}
		if err != nil {
			return nil, other, err
		}
	}
	return sum, other, nil
}

func (r *reporter) hoursOf(days []string) []string {
	var hours []string
	for _, d := range days {
		hours = append(hours, r.hours(d)...)
	}
	return hours
}

// among returns a function that reports whether a value is in list.
func among(list []string) func(string) bool {
	set := make(map[string]bool, len(list))
	for _, v := range list {
		set[v] = true
	}
	return func(v string) bool { return set[v] }
}

// monthSpans returns one span that covers the sorted months. Months within it that are read from
// finer buckets are read and skipped.
func monthSpans(months []string) []calendar.Span {
	if len(months) == 0 {
		return nil
	}
	return []calendar.Span{{From: months[0], To: months[len(months)-1]}}
}
