// Package report answers what people ask of a site's statistics: totals, buckets, the top values of a dimension, web vitals. It reads
// derived items only, and adds to them the counts that other analytics exported.
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
	// ErrInvalid is returned when a report is asked for in a way that has no answer: a malformed or empty range, an
	// unknown period or dimension.
	ErrInvalid = errors.New("analytics: report")
	// ErrExpired is returned when a report asks for buckets finer than those still kept. The message says what to ask
	// for instead.
	ErrExpired = errors.New("analytics: buckets have expired")
)

// The largest ranges of a report, in days.
const (
	maxReportDays   = 3_660 // ten years
	maxReportByHour = 366   // a year of hours is 8,784 buckets
)

// Request asks for the statistics of a site.
type Request struct {
	Site     string
	From, To string              // days of the site's zone, YYYY-MM-DD, both inclusive; at most ten years, by hour one
	Period   analytics.Period    // of Buckets; default Day
	By       analytics.Dimension // of Top; default ByPage
	Limit    int                 // of Top; 0 or less is all
}

// Report is the answer. Its JSON form is part of the HTTP API.
type Report struct {
	Site     string           `json:"site"`
	From     string           `json:"from"`
	To       string           `json:"to"`
	Period   analytics.Period `json:"period"`
	TimeZone string           `json:"timezone"`
	Totals   Totals           `json:"totals"`
	Buckets  []Bucket         `json:"buckets"` // of every hour, day or month that the range touches, in order; those without data are zero
	Top      []Row            `json:"top"`
	// Imported is there when days of the range are known from what other analytics counted.
	Imported *Imported `json:"imported,omitempty"`
	Cost     Cost      `json:"-"`
}

// Figures are the counts of a bucket or a range.
type Figures struct {
	PageViews int64 `json:"pageViews"`
	// Visits are counted in the bucket in which they start, with their bounces and seconds.
	Visits int64 `json:"visits"`
	// Visitors of an hour are those with an event in it. Visitors of a day, a month and a range are the visitors of its
	// days: a visitor counts once a day, because days cannot be linked.
	Visitors int64  `json:"visitors"`
	Events   int64  `json:"events"`  // custom events
	Bounces  int64  `json:"bounces"` // visits of one page view and no custom event
	Seconds  int64  `json:"seconds"` // total duration of visits
	Revenue  string `json:"revenue"` // exact decimal, in the site's currency
	// Conversions of all goals are counted in the bucket in which their visits start.
	Conversions    int64   `json:"conversions"`
	EngagedSeconds float64 `json:"engagedSeconds"` // of attention that pages had, where the tracker tells
}

// Totals are the figures of the whole range.
type Totals struct {
	Figures
	BounceRate *float64 `json:"bounceRate,omitempty"` // bounces / visits, absent without visits
}

// Bucket is one hour, day or month. A month that the range cuts holds the days within the range.
type Bucket struct {
	Start string `json:"start"` // 2026-05-12T14:00:00Z, 2026-05-12 or 2026-05
	Figures
}

// Row counts one value of the report's dimension. None and Other stand for what has no value, or no place.
type Row struct {
	Value     string `json:"value"`
	PageViews int64  `json:"pageViews"`
	Visits    int64  `json:"visits"`
	Events    int64  `json:"events,omitempty"` // of events and what they name; ByGoal: conversions

	// What follows is absent where the dimension does not count it, or nothing was counted.
	Visitors       int64    `json:"visitors,omitempty"`   // only where raw events were counted
	BounceRate     *float64 `json:"bounceRate,omitempty"` // bounces / visits
	Duration       *float64 `json:"duration,omitempty"`   // seconds of a visit, on average
	EngagedSeconds float64  `json:"engagedSeconds,omitempty"`
	ScrollDepth    *float64 `json:"scrollDepth,omitempty"` // percent of the page that a visitor of a day saw, on average
	Revenue        string   `json:"revenue,omitempty"`
}

// Cost is what a report consumed.
type Cost = meter.Cost

// Make answers from the derived buckets alone. It asks one Query for the marks of days that wait for a roll-up, one
// each for months and days, and one or a few for the hours of days that are open or wait; the same again for the
// breakdown. How many events the buckets hold makes no difference.
func Make(ctx context.Context, t *table.Table, in Request) (Report, error) {
	return report(ctx, t, in, true)
}

// Statistics is Make without Top, at half of its price.
func Statistics(ctx context.Context, t *table.Table, in Request) (Report, error) {
	return report(ctx, t, in, false)
}

func report(ctx context.Context, t *table.Table, in Request, top bool) (Report, error) {
	m := meter.New(t)
	r, err := newReporter(ctx, m.Table, in)
	if err != nil {
		return Report{}, err
	}
	if err := r.load(ctx); err != nil {
		return Report{}, fmt.Errorf("analytics: report on %s: %w", in.Site, err)
	}
	out := Report{Site: in.Site, From: in.From, To: in.To, Period: r.in.Period, TimeZone: r.site.TimeZone}
	buckets, total, err := r.buckets()
	if err != nil {
		return Report{}, fmt.Errorf("analytics: report on %s: %w", in.Site, err)
	}
	out.Buckets, out.Totals, out.Imported = buckets, totals(&total), r.aboutImported()
	if top {
		if out.Top, err = r.top(ctx); err != nil {
			return Report{}, fmt.Errorf("analytics: report on %s by %s: %w", in.Site, r.in.By, err)
		}
	}
	out.Cost = m.Cost()
	return out, nil
}

// reporter holds what a report has loaded.
type reporter struct {
	t     *table.Table
	in    Request
	site  analytics.Site
	cal   calendar.Zone
	now   time.Time
	days  []string        // of the range
	fresh map[string]bool // days whose hours are ahead of their roll-up
	plan  plan            // of Buckets and Totals

	byMonth, byDay, byHour map[string]*analytics.Stats

	own      analytics.Stats // of the whole range
	imported *imported.View  // nil: nothing
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
		return fmt.Errorf("%w: %s to %s are %d days: want 1 to %d", ErrInvalid, in.From, in.To, n, most)
	}
	return nil
}

// nameList names dimensions, for people.
func nameList(all []analytics.Dimension) string {
	names := make([]string, len(all))
	for i, d := range all {
		names[i] = string(d)
	}
	return strings.Join(names, ", ")
}
