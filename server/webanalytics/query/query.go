package query

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/explore"
	"github.com/onefold/onefold/analytics/report"
)

// Request is a query. Field names are those of Plausible's API where it has them.
type Request struct {
	Metrics []string `json:"metrics" minItems:"1" maxItems:"12" doc:"Numbers of each row, in this order: visitors, visits, pageviews, events, bounce_rate, visit_duration, views_per_visit, conversions, total_revenue, engagement_time; by a dimension also share, and by page scroll_depth." example:"[\"visitors\",\"visits\"]"`
	Selection
	Dimensions []string   `json:"dimensions,omitempty" maxItems:"1" doc:"Dimension of the rows: time:hour, time:day, time:month, or one of breakdowns, such as page, source or utm_campaign. The prefixes of Plausible (visit:source, event:page, event:props:plan) are accepted. Default: one row for the whole range." example:"[\"source\"]"`
	Search     string     `json:"search,omitempty" maxLength:"200" doc:"Only rows whose value contains this text, ignoring case."`
	OrderBy    []Order    `json:"order_by,omitempty" maxItems:"3" doc:"Order of the rows. Default: time, or the first metric, largest first." example:"[[\"visits\",\"desc\"]]"`
	Include    Include    `json:"include,omitzero"`
	Pagination Pagination `json:"pagination,omitzero"`
}

// Include selects optional parts of an answer.
type Include struct {
	Comparisons *Comparisons `json:"comparisons,omitempty" doc:"Compare with another range: each row also has the metrics of that range and their relative change. Rows by a dimension include values that only the other range has."`
}

// Pagination selects a part of the rows.
type Pagination struct {
	Limit  int `json:"limit,omitempty" minimum:"1" maximum:"1000" default:"100" doc:"Maximum number of rows."`
	Offset int `json:"offset,omitempty" minimum:"0" maximum:"100000" default:"0" doc:"Number of rows to skip."`
}

const defaultLimit = 100

// Answer is the answer to a Request.
type Answer struct {
	Results []Row         `json:"results" doc:"One row for the range, for each bucket of time, or for each value of the dimension."`
	None    *Row          `json:"none,omitempty" doc:"The part without a value of the dimension, such as visits without a campaign."`
	Other   *Row          `json:"other,omitempty" doc:"Values beyond the limit of the stored counts, added up."`
	Meta    Meta          `json:"meta"`
	Query   ResolvedQuery `json:"query"`
}

// Row is a row of an answer.
type Row struct {
	Dimensions []string   `json:"dimensions" doc:"The value of the dimension. Empty for the whole range."`
	Metrics    []any      `json:"metrics" doc:"In the order of the query's metrics: numbers, revenue as text, or null if unknown."`
	Comparison *RowBefore `json:"comparison,omitempty"`
}

// RowBefore is a row's part of the comparison range.
type RowBefore struct {
	Dimensions []string   `json:"dimensions" doc:"As in the row; for time, the compared bucket."`
	Metrics    []any      `json:"metrics" doc:"As in the row."`
	Change     []*float64 `json:"change" doc:"For each metric, its relative change: 0.5 is an increase by half. null if there was none before."`
}

// Meta says how an answer was made.
type Meta struct {
	TimeZone  string           `json:"time_zone"`
	Source    string           `json:"source" enum:"statistics,raw,warehouse" doc:"statistics: from stored counts. raw: counted from raw events, which are kept for a limited time. warehouse: from raw events, partly read from the warehouse."`
	TotalRows int              `json:"total_rows" doc:"Number of rows on all pages."`
	Notes     []string         `json:"notes" doc:"Notes for readers of these numbers, such as an unfinished day or missing days."`
	Imported  *report.Imported `json:"imported,omitempty" doc:"Days of the range with counts imported from another analytics product."`
}

// ResolvedQuery is the query that was answered, with days instead of names of ranges.
type ResolvedQuery struct {
	SiteID              string   `json:"site_id"`
	Metrics             []string `json:"metrics"`
	Dimensions          []string `json:"dimensions"`
	DateRange           []string `json:"date_range" doc:"First and last day."`
	ComparisonDateRange []string `json:"comparison_date_range,omitempty" doc:"First and last day that rows are compared with."`
}

// plan is a checked Request.
type plan struct {
	Request
	site    *Site
	days    explore.Range
	filters []explore.Filter
	metrics []*Metric
	by      analytics.Dimension // "": a range or its buckets
	period  analytics.Period    // of buckets; "": one row
}

// Run answers a query. Errors: *Error, and those of count.
func Run(ctx context.Context, count Count, site *Site, in Request) (*Answer, error) {
	q, err := check(site, in)
	if err != nil {
		return nil, err
	}
	order, err := q.order()
	if err != nil {
		return nil, err
	}
	s, err := q.count(ctx, count)
	if err != nil {
		return nil, err
	}
	a := &Answer{Meta: s.meta, Query: ResolvedQuery{SiteID: site.SiteID, Metrics: in.Metrics, Dimensions: in.Dimensions, DateRange: []string{q.days.From, q.days.To}}}
	if a.Query.Dimensions == nil {
		a.Query.Dimensions = []string{}
	}
	if s.before != nil {
		a.Query.ComparisonDateRange = []string{s.before.from, s.before.to}
	}
	rows := q.rows(s)
	a.None, a.Other = rows.none, rows.other
	slices.SortStableFunc(rows.list, order)
	a.Meta.TotalRows = len(rows.list)
	limit := in.Pagination.Limit
	if limit <= 0 {
		limit = defaultLimit
	}
	a.Results = Page(rows.list, in.Pagination.Offset, limit)
	return a, nil
}

// check validates a request.
func check(site *Site, in Request) (q *plan, err error) {
	q = &plan{Request: in, site: site, days: explore.Range{Site: site.SiteID}}
	if q.days.From, q.days.To, err = in.DateRange.Of(site); err != nil {
		return nil, err
	}
	if q.filters, err = in.filters(site); err != nil {
		return nil, err
	}
	if len(in.Dimensions) > 0 {
		if err := q.breakDown(in.Dimensions[0]); err != nil {
			return nil, err
		}
	}
	q.metrics, err = metricsOf(in.Metrics, q.by)
	return q, err
}

// breakDown chooses the rows.
func (q *plan) breakDown(name string) error {
	if period, ok := strings.CutPrefix(name, "time:"); ok {
		q.period = analytics.Period(period)
		if q.period == analytics.Hour || q.period == analytics.Day || q.period == analytics.Month {
			return nil
		}
		return errorf("unknown_dimension", "unknown dimension %.40q: use time:hour, time:day or time:month", name)
	}
	q.by = dimensionOf(name)
	return CheckDimension(q.site, q.by)
}

// CheckDimension rejects a dimension that reports do not have.
func CheckDimension(site *Site, by analytics.Dimension) error {
	all := site.Dimensions()
	if slices.Contains(all, by) || strings.HasPrefix(string(by), property) && len(by) > len(property) {
		return nil
	}
	return errorf("unknown_dimension", "unknown dimension %.40q: use time:hour, time:day, time:month (in queries), %s", by, joined(all))
}

// counted is what a query counted.
type counted struct {
	now    *side
	before *side // nil: no comparison
	meta   Meta
}

// side is one range of a query.
type side struct {
	from, to string
	out      explore.Report
	raw      bool // values are counted from raw events
}

// count counts the range and the one that it is compared with. Visitors by a dimension need raw events:
// if these lack a part of either range, stored counts without visitors are used for both.
func (q *plan) count(ctx context.Context, count Count) (*counted, error) {
	if q.by != "" && len(q.filters) == 0 && wantsVisitors(q.metrics) {
		c, err := q.countBoth(ctx, count, true)
		if err == nil && c.complete() {
			return c, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil && !errors.Is(err, explore.ErrGone) && !errors.Is(err, explore.ErrTooMuch) {
			return nil, err
		}
		c, err = q.countBoth(ctx, count, false)
		if err == nil && !c.now.raw {
			c.meta.Notes = append(c.meta.Notes, fmt.Sprintf("Visitors by %s are unknown: they are counted from raw events, which are not complete for these days. Visits are exact.", q.by))
		}
		return c, err
	}
	return q.countBoth(ctx, count, false)
}

// complete reports whether no day is missing.
func (c *counted) complete() bool {
	whole := func(s *side) bool { return len(s.out.Lost) == 0 && (s.out.Imported == nil || s.out.Imported.Included) }
	return whole(c.now) && (c.before == nil || whole(c.before))
}

func (q *plan) countBoth(ctx context.Context, count Count, raw bool) (*counted, error) {
	ask := q.ask()
	now, source, err := q.side(ctx, count, ask, raw)
	if err != nil {
		return nil, err
	}
	c := &counted{now: now, meta: Meta{TimeZone: q.site.TimeZone, Source: string(source), Imported: now.out.Imported, Notes: slices.Clone(now.out.Notes)}}
	if note := q.site.Unfinished(ask.From, ask.To); note != "" {
		c.meta.Notes = append(c.meta.Notes, note)
	}
	if q.Include.Comparisons == nil {
		return c, nil
	}
	if ask.From, ask.To, err = q.Include.Comparisons.Of(q.site, ask.From, ask.To, q.period); err != nil {
		return nil, err
	}
	before, err := q.before(ctx, count, ask, raw)
	if note, ok := NoComparison(err, ask.From, ask.To); ok && !raw {
		c.meta.Notes = append(c.meta.Notes, note)
		return c, nil
	}
	if err != nil {
		return nil, err
	}
	c.before = before
	c.meta.Notes = append(c.meta.Notes, before.out.Notes...)
	return c, nil
}

// before counts what is compared with. Everything is counted from raw events as the filtered visits
// are, so that both have the same days.
func (q *plan) before(ctx context.Context, count Count, ask report.Request, raw bool) (*side, error) {
	if q.Include.Comparisons.Mode != Everything {
		s, _, err := q.side(ctx, count, ask, raw)
		return s, err
	}
	all, err := q.site.Apply(nil)
	if err != nil {
		return nil, err
	}
	out, source, err := count(ctx, ask, all, raw || len(q.filters) > 0)
	return &side{from: ask.From, to: ask.To, out: out, raw: source != explore.FromStatistics}, err
}

func (q *plan) ask() report.Request {
	if q.by != "" {
		return ValuesIn(q.days, q.by)
	}
	ask := report.Request{Site: q.days.Site, From: q.days.From, To: q.days.To, Period: q.period}
	if ask.Period == "" {
		ask.Period = analytics.Day
	}
	return ask
}

func (q *plan) side(ctx context.Context, count Count, ask report.Request, raw bool) (*side, explore.Source, error) {
	out, source, err := count(ctx, ask, q.filters, raw)
	return &side{from: ask.From, to: ask.To, out: out, raw: source != explore.FromStatistics}, source, err
}

// Unfinished returns a note if a range contains today, otherwise "".
func (s *Site) Unfinished(from, to string) string {
	if from > s.Today || to < s.Today {
		return ""
	}
	return fmt.Sprintf("%s is not over: it is counted until %s (%s). A comparison with whole days is too low for it.", s.Today, s.Now, s.TimeZone)
}

// At sets the day and time of day of a site.
func (s *Site) At(now time.Time) { s.Today, s.Now = now.Format(time.DateOnly), now.Format("15:04") }
