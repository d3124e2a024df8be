// Package report answers questions about a site's statistics: totals, buckets, the top values of a
// dimension, web vitals. It reads only derived items, and adds the counts imported from other
// products.
package report

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/onefold/onefold/analytics"

	"github.com/onefold/onefold/analytics/imported"
	"github.com/onefold/onefold/analytics/internal/meter"
	"github.com/onefold/onefold/internal/calendar"
	"github.com/onefold/onefold/table"
)

var (
	// ErrInvalid is returned for an invalid request: a malformed or empty range, an unknown period
	// or an unknown dimension.
	ErrInvalid = errors.New("analytics: report")
	// ErrExpired is returned when a report needs finer buckets than those still kept. The message
	// says what to request instead.
	ErrExpired = errors.New("analytics: buckets have expired")
)

// The longest ranges of a report, in days.
const (
	maxReportDays   = 3_660 // ten years
	maxReportByHour = 366   // a year of hours is 8,784 buckets
)

// Request selects the statistics of a site.
type Request struct {
	Site     string
	From, To string              // days in the site's zone, YYYY-MM-DD, inclusive; at most ten years, by hour one
	Period   analytics.Period    // of Buckets; default Day
	By       analytics.Dimension // of Top; default ByPage
	Limit    int                 // of Top; 0 or less means all
}

// Report is the answer to a Request. Its JSON form is part of the HTTP API.
type Report struct {
	Site     string           `json:"site"`
	From     string           `json:"from"`
	To       string           `json:"to"`
	Period   analytics.Period `json:"period"`
	TimeZone string           `json:"timezone"`
	Totals   Totals           `json:"totals"`
	Buckets  []Bucket         `json:"buckets"` // every hour, day or month of the range, in order; zero without data
	Top      []Row            `json:"top"`
	// Imported is set if some days of the range come from other analytics products.
	Imported *Imported `json:"imported,omitempty"`
	Cost     Cost      `json:"-"`
}

// Figures are the counts of a bucket or range.
type Figures struct {
	PageViews int64 `json:"pageViews"`
	// Visits are counted in the bucket in which they start, as are their bounces and seconds.
	Visits int64 `json:"visits"`
	// Visitors of an hour have an event in it. Visitors of a day, month or range are summed over
	// days: a visitor who returns the next day is counted again, because days cannot be linked.
	Visitors int64  `json:"visitors"`
	Events   int64  `json:"events"`  // custom events
	Bounces  int64  `json:"bounces"` // visits with one page view and no custom event
	Seconds  int64  `json:"seconds"` // total duration of visits
	Revenue  string `json:"revenue"` // exact decimal, in the site's currency
	// Conversions of all goals count in the bucket in which their visits start.
	Conversions    int64   `json:"conversions"`
	EngagedSeconds float64 `json:"engagedSeconds"` // time that pages were in front of visitors, if the tracker reports it
}

// Totals are the figures of the whole range.
type Totals struct {
	Figures
	BounceRate *float64 `json:"bounceRate,omitempty"` // bounces / visits; absent without visits
}

// Bucket is one hour, day or month. A month at the edge of the range counts only days in the range.
type Bucket struct {
	Start string `json:"start"` // 2026-05-12T14:00:00Z, 2026-05-12 or 2026-05
	Figures
}

// Row holds the counts of one value of the report's dimension. The values None and Other stand for
// a missing value, and for values that did not fit.
type Row struct {
	Value     string `json:"value"`
	PageViews int64  `json:"pageViews"`
	Visits    int64  `json:"visits"`
	Events    int64  `json:"events,omitempty"` // events or URLs; ByGoal: conversions

	// The fields below are absent if the dimension does not count them, or nothing was counted.
	Visitors       int64    `json:"visitors,omitempty"`   // only if raw events were counted
	BounceRate     *float64 `json:"bounceRate,omitempty"` // bounces / visits
	Duration       *float64 `json:"duration,omitempty"`   // average duration of a visit, seconds
	EngagedSeconds float64  `json:"engagedSeconds,omitempty"`
	ScrollDepth    *float64 `json:"scrollDepth,omitempty"` // average maximum scroll depth, percent
	Revenue        string   `json:"revenue,omitempty"`
}

// Cost is the cost of a report.
type Cost = meter.Cost

// Make computes a report from derived buckets. It makes one Query call for the marks of days that
// wait for a roll-up, one each for months and days, and one to three for hours of days that are
// open or marked; then the same for the breakdown. The cost does not depend on the number of
// events. Errors: ErrInvalid, ErrExpired, table.ErrNotFound for the site.
func Make(ctx context.Context, t *table.Table, in Request) (Report, error) {
	return report(ctx, t, in, true)
}

// Statistics is Make without Top, at half the cost.
func Statistics(ctx context.Context, t *table.Table, in Request) (Report, error) {
	return report(ctx, t, in, false)
}

// Breakdowns is Statistics with all rows of several dimensions. It loads the statistics once. Dimensions
// are all that the site has; in.By and in.Limit do not matter.
func Breakdowns(ctx context.Context, t *table.Table, in Request, by []analytics.Dimension) (Report, map[analytics.Dimension][]Row, error) {
	m := meter.New(t)
	in.By, in.Limit = "", 0
	r, out, err := figures(ctx, m.Table, in)
	if err != nil {
		return Report{}, nil, err
	}
	rows := make(map[analytics.Dimension][]Row, len(by))
	for _, d := range by {
		r.in.By = d
		if rows[d], err = r.top(ctx); err != nil {
			return Report{}, nil, fmt.Errorf("analytics: report on %s by %s: %w", in.Site, d, err)
		}
	}
	out.Cost = m.Cost()
	return out, rows, nil
}

// figures returns a report without Top, and its loaded data.
func figures(ctx context.Context, t *table.Table, in Request) (*reporter, Report, error) {
	r, err := newReporter(ctx, t, in)
	if err != nil {
		return nil, Report{}, err
	}
	if err := r.load(ctx); err != nil {
		return nil, Report{}, fmt.Errorf("analytics: report on %s: %w", in.Site, err)
	}
	out := Report{Site: in.Site, From: in.From, To: in.To, Period: r.in.Period, TimeZone: r.site.TimeZone}
	buckets, total, err := r.buckets()
	if err != nil {
		return nil, Report{}, fmt.Errorf("analytics: report on %s: %w", in.Site, err)
	}
	out.Buckets, out.Totals, out.Imported = buckets, totals(&total), r.aboutImported()
	return r, out, nil
}

func report(ctx context.Context, t *table.Table, in Request, top bool) (Report, error) {
	m := meter.New(t)
	r, out, err := figures(ctx, m.Table, in)
	if err != nil {
		return Report{}, err
	}
	if top {
		if out.Top, err = r.top(ctx); err != nil {
			return Report{}, fmt.Errorf("analytics: report on %s by %s: %w", in.Site, r.in.By, err)
		}
	}
	out.Cost = m.Cost()
	return out, nil
}

// reporter holds the loaded data of a report.
type reporter struct {
	t     *table.Table
	in    Request
	site  analytics.Site
	cal   calendar.Zone
	now   time.Time
	days  []string        // all days of the range
	fresh map[string]bool // days whose hours are newer than their roll-up
	plan  plan            // for Buckets and Totals

	byMonth, byDay, byHour map[string]*analytics.Stats

	own      analytics.Stats // own counts of the whole range
	imported *imported.View  // nil: none
}

func newReporter(ctx context.Context, t *table.Table, in Request) (*reporter, error) {
	if in.Period == "" {
		in.Period = analytics.Day
	}
	if in.By == "" {
		in.By = analytics.ByPage
	}
	if err := in.check(); err != nil {
		return nil, err
	}
	site, err := analytics.GetSite(ctx, t, in.Site)
	if err != nil {
		return nil, err
	}
	if all := site.Dimensions(); !slices.Contains(all, in.By) {
		return nil, fmt.Errorf("%w: dimension %q: want one of %s", ErrInvalid, in.By, nameList(all))
	}
	cal, err := calendar.LoadZone(site.TimeZone)
	if err != nil {
		return nil, err
	}
	return &reporter{t: t, in: in, site: site, cal: cal, now: t.Now(), days: calendar.Days(in.From, in.To)}, nil
}

func (in Request) check() error {
	if _, err := calendar.ParseDay(in.From); err != nil {
		return fmt.Errorf("%w: from %w", ErrInvalid, err)
	}
	if _, err := calendar.ParseDay(in.To); err != nil {
		return fmt.Errorf("%w: to %w", ErrInvalid, err)
	}
	most := maxReportDays
	switch in.Period {
	case analytics.Hour:
		most = maxReportByHour
	case analytics.Day, analytics.Month:
	default:
		return fmt.Errorf("%w: period %q: want hour, day or month", ErrInvalid, in.Period)
	}
	if n := calendar.DaysBetween(in.From, in.To) + 1; n < 1 || n > most {
		return fmt.Errorf("%w: %s to %s is %d days: want 1 to %d", ErrInvalid, in.From, in.To, n, most)
	}
	return nil
}

// nameList joins the names of dimensions for a message.
func nameList(all []analytics.Dimension) string {
	names := make([]string, len(all))
	for i, d := range all {
		names[i] = string(d)
	}
	return strings.Join(names, ", ")
}
