package query

import (
	"strings"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/report"
)

// Value is one value of a dimension with its counts.
type Value struct {
	report.Row
	Share float64 `json:"share" doc:"Share of all events for dimensions of events, of all page views for pages, otherwise of all visits; 0 to 1."`
}

// Values are the values of a dimension.
type Values struct {
	List        []Value // never nil
	None, Other *Value  // analytics.None and analytics.Other; nil: nothing was counted

	counted func(*report.Row) int64 // the count by which values are sorted by default
}

// ValuesOf adds shares to the rows of a breakdown, separates those that stand for no value and for
// several, and lists the values that contain a text, ignoring case.
func ValuesOf(by analytics.Dimension, rows []report.Row, total *report.Figures, search string) Values {
	counted, all := measure(by, rows, total)
	search = strings.ToLower(search)
	v := Values{List: []Value{}, counted: counted}
	for _, row := range rows {
		value := Value{Row: row}
		if share := ratio(counted(&row), all); share != nil {
			value.Share = min(1, *share)
		}
		switch {
		case row.Value == analytics.Other:
			v.Other = &value
		case row.Value == analytics.None:
			v.None = &value
		case search == "" || strings.Contains(strings.ToLower(row.Value), search):
			v.List = append(v.List, value)
		}
	}
	return v
}

// measure returns the count by which the rows of a dimension are sorted, and its total. A visit can
// be in several rows of an event dimension, or in none, so events are counted there.
func measure(by analytics.Dimension, rows []report.Row, total *report.Figures) (func(*report.Row) int64, int64) {
	switch {
	case by == analytics.ByPage:
		return func(r *report.Row) int64 { return r.PageViews }, total.PageViews
	case countsEvents(by):
		var all int64
		for i := range rows {
			all += rows[i].Events
		}
		return func(r *report.Row) int64 { return r.Events }, all
	}
	return func(r *report.Row) int64 { return r.Visits }, total.Visits
}

// countsEvents reports whether the rows of a dimension count events.
func countsEvents(by analytics.Dimension) bool {
	switch by {
	case analytics.ByEventName, analytics.ByGoal, analytics.ByOutbound, analytics.ByDownload, analytics.ByNotFound:
		return true
	}
	return strings.HasPrefix(string(by), property)
}

// Page returns the part of a list that a request asks for.
func Page[T any](list []T, offset, limit int) []T {
	first := min(offset, len(list))
	return list[first:min(first+limit, len(list))]
}
