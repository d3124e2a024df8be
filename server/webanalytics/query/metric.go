package query

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/internal/decimal"
)

// Metric is a number that queries ask for.
type Metric struct {
	Name    string
	Meaning string // for documents

	total func(*Figures) any // of a range or bucket; nil: only of values
	value func(*cell) any    // of a value of a dimension; nil: only of ranges
}

// cell is one value of a dimension, with the information which of its counts are known.
type cell struct {
	*Value
	by  analytics.Dimension
	raw bool // counted from raw events
}

// hasVisits reports whether the visits of a value are known.
func (c *cell) hasVisits() bool {
	return c.raw || !countsEvents(c.by) || c.by == analytics.ByGoal
}

// Metrics lists all metrics. A metric is int64, float64, a decimal as text, or nil if it is unknown.
var Metrics = []Metric{
	{"visitors", "Visitors. Those of several days are the sum of the days, because days cannot be linked. By a dimension, they are counted from raw events and unknown if these are not complete.",
		func(f *Figures) any { return f.Visitors }, func(c *cell) any { return known(c.raw, c.Visitors) }},
	{"visits", "Visits.",
		func(f *Figures) any { return f.Visits }, func(c *cell) any { return known(c.hasVisits(), c.Visits) }},
	{"pageviews", "Page views.",
		func(f *Figures) any { return f.PageViews }, func(c *cell) any { return c.PageViews }},
	{"events", "Custom events. By goal: conversions.",
		func(f *Figures) any { return f.Events }, func(c *cell) any { return known(countsEvents(c.by), c.Events) }},
	{"bounce_rate", "Share of visits with one page view and no custom event, 0 to 1.",
		func(f *Figures) any { return pointed(f.BounceRate) }, func(c *cell) any { return pointed(c.BounceRate) }},
	{"visit_duration", "Average duration of a visit in seconds.",
		func(f *Figures) any { return pointed(f.Duration) }, func(c *cell) any { return pointed(c.Duration) }},
	{"views_per_visit", "Average number of page views of a visit.",
		func(f *Figures) any { return pointed(f.ViewsPerVisit) }, func(c *cell) any { return perVisit(c) }},
	{"conversions", "Conversions of all goals. By a dimension, only by goal.",
		func(f *Figures) any { return f.Conversions }, func(c *cell) any { return known(c.by == analytics.ByGoal, c.Events) }},
	{"total_revenue", "Revenue in the site's currency, an exact decimal as text.",
		func(f *Figures) any { return cmp.Or(f.Revenue, "0") }, func(c *cell) any { return cmp.Or(c.Revenue, "0") }},
	{"engagement_time", "Time that pages were in front of visitors, in seconds, if the tracker reports it.",
		func(f *Figures) any { return f.EngagedSeconds }, func(c *cell) any { return c.EngagedSeconds }},
	{"scroll_depth", "Average maximum scroll depth of a page, in percent. Only by page.",
		nil, func(c *cell) any { return pointed(c.ScrollDepth) }},
	{"share", "Share of all events by dimensions of events, of all page views by page, otherwise of all visits; 0 to 1. Only by a dimension.",
		nil, func(c *cell) any { return c.Share }},
}

func known(is bool, n int64) any {
	if !is {
		return nil
	}
	return n
}

func pointed(n *float64) any {
	if n == nil {
		return nil
	}
	return *n
}

func perVisit(c *cell) any {
	if countsEvents(c.by) || c.by == analytics.ByPage { // a visit counts under each of its pages
		return nil
	}
	return pointed(ratio(c.PageViews, c.Visits))
}

// MetricNames lists the names of Metrics.
func MetricNames() []string {
	names := make([]string, len(Metrics))
	for i := range Metrics {
		names[i] = Metrics[i].Name
	}
	return names
}

// metricsOf finds the metrics of a query by a dimension; "" stands for a range or its buckets.
func metricsOf(names []string, by analytics.Dimension) ([]*Metric, error) {
	list := make([]*Metric, len(names))
	for i, name := range names {
		at := slices.IndexFunc(Metrics, func(m Metric) bool { return m.Name == name })
		if at < 0 {
			return nil, errorf("unknown_metric", "unknown metric %.40q: use %s", name, strings.Join(MetricNames(), ", "))
		}
		if list[i] = &Metrics[at]; !list[i].countsBy(by) {
			return nil, errorf("metric_unavailable", "%s", unavailable(name, by))
		}
	}
	return list, nil
}

// countsBy reports whether a metric is ever known by a dimension.
func (m *Metric) countsBy(by analytics.Dimension) bool {
	switch {
	case by == "":
		return m.total != nil
	case m.value == nil:
		return false
	}
	switch m.Name {
	case "events":
		return countsEvents(by)
	case "conversions":
		return by == analytics.ByGoal
	case "scroll_depth":
		return by == analytics.ByPage
	case "views_per_visit":
		return !countsEvents(by) && by != analytics.ByPage
	}
	return true
}

func unavailable(name string, by analytics.Dimension) string {
	switch {
	case name == "conversions":
		return fmt.Sprintf("conversions are not counted by %s: use the dimension goal, or filter by a goal and use visits", by)
	case name == "events":
		return fmt.Sprintf("events are not counted by %s: use the dimension event, or filter by an event and use visits", by)
	case name == "scroll_depth":
		return "scroll_depth is only counted by page: use the dimension page"
	case by == "":
		return name + " is only counted by a dimension such as source: add one to dimensions"
	}
	return fmt.Sprintf("%s is not counted by %s", name, by)
}

// compareMetrics compares two values of a metric. missing reports that one of them is unknown; that one
// is then the later one.
func compareMetrics(x, y any) (by int, missing bool) {
	switch {
	case x == nil && y == nil:
		return 0, true
	case x == nil:
		return 1, true
	case y == nil:
		return -1, true
	}
	switch x := x.(type) {
	case int64:
		return cmp.Compare(x, number[int64](y)), false
	case string:
		return decimal.Compare(x, number[string](y)), false
	}
	return cmp.Compare(number[float64](x), number[float64](y)), false
}

func number[T any](of any) T {
	n, _ := of.(T)
	return n
}

// change returns (now - before) / before, or nil if it is unknown.
func change(now, before any) *float64 {
	n, b := approximate(now), approximate(before)
	if n == nil || b == nil || *b == 0 {
		return nil
	}
	c := (*n - *b) / *b
	return &c
}

func approximate(metric any) *float64 {
	switch n := metric.(type) {
	case int64:
		f := float64(n)
		return &f
	case float64:
		return &n
	case string:
		if f, err := strconv.ParseFloat(n, 64); err == nil {
			return &f
		}
	}
	return nil
}

// wantsVisitors reports whether visitors are asked for.
func wantsVisitors(list []*Metric) bool {
	return slices.ContainsFunc(list, func(m *Metric) bool { return m.Name == "visitors" })
}
