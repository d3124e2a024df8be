// Package query answers questions that one JSON document asks about a site: metrics by dimension in a
// range of days, filtered, compared and sorted. Reports count; this package chooses what they count,
// and arranges it. The routes of statistics and breakdowns share its figures and values, so that all
// answers agree.
package query

import (
	"context"
	"errors"
	"fmt"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/explore"
	"github.com/onefold/onefold/analytics/report"
)

// property is the prefix of dimensions of custom properties.
const property = explore.Property

// Error is returned for an invalid query. Its message says what is allowed.
type Error struct {
	Code    string // stable: unknown_metric, metric_unavailable, unknown_dimension, bad_range, bad_order or bad_comparison
	Message string
}

func (e *Error) Error() string { return e.Message }

func errorf(code, format string, args ...any) error {
	return &Error{code, fmt.Sprintf(format, args...)}
}

// Count counts one range: from statistics if they suffice, otherwise, or if raw is set, from raw
// events.
type Count func(ctx context.Context, ask report.Request, filters []explore.Filter, raw bool) (explore.Report, explore.Source, error)

// A Site is what queries ask about.
type Site struct {
	analytics.Site
	First string // first day with counts; used for the range "all"
	Today string // in the site's time zone
	Now   string // time of day in the site's time zone, HH:MM

	// Apply expands the segments in filters and adds the restriction of the caller.
	Apply func(filters []explore.Filter) ([]explore.Filter, error)
}

// NoComparison returns the note of an answer whose comparison range is no longer kept. ok is false for
// other errors.
func NoComparison(err error, from, to string) (note string, ok bool) {
	if errors.Is(err, report.ErrExpired) || errors.Is(err, explore.ErrGone) {
		return "No comparison: " + from + " to " + to + " is no longer kept in this detail.", true
	}
	return "", false
}

// ValuesIn returns the request for the values of a dimension. Buckets are not needed, so they are as
// coarse as possible.
func ValuesIn(days explore.Range, by analytics.Dimension) report.Request {
	return report.Request{Site: days.Site, From: days.From, To: days.To, Period: analytics.Month, By: by}
}
