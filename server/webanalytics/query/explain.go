package query

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/contribution"
	"github.com/onefold/onefold/analytics/explore"
	"github.com/onefold/onefold/analytics/report"
)

// ExplainRequest asks which values of which dimensions changed a metric.
type ExplainRequest struct {
	Metric string `json:"metric" enum:"visitors,visits,pageviews,events,conversions,total_revenue" doc:"The metric whose change is divided among values. Events are divided by event, conversions by goal, page views also by page. Visitors are divided like visits, because only visits have one value each."`
	Selection
	Comparisons Comparisons `json:"comparisons,omitzero" doc:"The range to compare with. Default: previous_period, by weekday."`
	Dimensions  []string    `json:"dimensions,omitempty" maxItems:"30" doc:"Only these dimensions. Default: all that divide the metric."`
	Limit       int         `json:"limit,omitempty" minimum:"1" maximum:"100" default:"10" doc:"Maximum number of values of each dimension. The others are added up as rest."`
}

// Explanation divides the change of a metric.
type Explanation struct {
	Metric     string      `json:"metric"`
	Total      Difference  `json:"total" doc:"The metric in both ranges."`
	DividedAs  string      `json:"divided_as" doc:"The metric that the parts of dimensions add up to: visits for visitors, otherwise the metric itself."`
	Divided    Difference  `json:"divided" doc:"The metric of divided_as in both ranges. The parts, rest and unattributed of each dimension add up to it."`
	Dimensions []Divided   `json:"dimensions" doc:"Dimensions whose values shifted most are first. Dimensions without values are omitted."`
	DateRange  []string    `json:"date_range" doc:"First and last day."`
	Comparison []string    `json:"comparison_date_range" doc:"First and last day that are compared with."`
	SiteID     string      `json:"site_id"`
	Meta       ExplainMeta `json:"meta"`
}

// ExplainMeta says how an explanation was made.
type ExplainMeta struct {
	TimeZone string   `json:"time_zone"`
	Source   string   `json:"source" enum:"statistics,raw,warehouse" doc:"As in a query."`
	Notes    []string `json:"notes" doc:"Notes for readers of these numbers."`
}

// Difference is a number in both ranges.
type Difference struct {
	Before     any      `json:"before" doc:"In the comparison range. A number; revenue is an exact decimal as text."`
	After      any      `json:"after" doc:"In the range."`
	Difference any      `json:"difference" doc:"after - before."`
	Change     *float64 `json:"change" doc:"Relative change: 0.5 is an increase by half. null if there was none before."`
}

// Divided is the change divided by one dimension.
type Divided struct {
	Dimension    string      `json:"dimension"`
	Shift        float64     `json:"shift" doc:"How much of the metric moved between values, beyond what follows from the change of the total. 0 if all values changed alike."`
	Parts        []Part      `json:"parts" doc:"Values with the largest differences first, up or down. (none) stands for no value, (other) for values beyond the limit of the stored counts."`
	Rest         *Difference `json:"rest,omitempty" doc:"Sum of the values beyond the limit."`
	RestValues   int         `json:"rest_values,omitempty" doc:"Number of values in rest."`
	Unattributed *Difference `json:"unattributed,omitempty" doc:"Counts without a value because the dimension was not measured, as on some imported days."`
}

// Part is the contribution of one value.
type Part struct {
	Value string `json:"value"`
	Difference
}

// CountAll counts one range by several dimensions.
type CountAll func(ctx context.Context, days explore.Range, filters []explore.Filter, by []analytics.Dimension) (explore.Report, map[analytics.Dimension][]report.Row, error)

const (
	visitors         = "visitors"
	defaultParts     = 10
	visitorsAsVisits = "Visitors are counted once a day and are not stored by value, because a visitor may have several. The parts add up to the change of visits, which is %s, not to that of visitors."
)

// Explain divides the change of a metric between two ranges. Errors: *Error, and those of count.
func Explain(ctx context.Context, count CountAll, site *Site, in ExplainRequest) (*Explanation, error) {
	metric := contribution.Metric(in.Metric)
	if in.Metric == visitors {
		metric = contribution.Visits
	}
	by, err := dividing(site, metric, in.Dimensions)
	if err != nil {
		return nil, err
	}
	filters, err := in.filters(site)
	if err != nil {
		return nil, err
	}
	days, earlier, err := in.ranges(site)
	if err != nil {
		return nil, err
	}
	after, afterRows, err := count(ctx, days, filters, by)
	if err != nil {
		return nil, err
	}
	before, beforeRows, err := count(ctx, earlier, filters, by)
	if err != nil {
		return nil, err
	}
	total, divisions := contribution.Of(metric, &contribution.Side{Totals: before.Totals.Figures, Rows: beforeRows}, &contribution.Side{Totals: after.Totals.Figures, Rows: afterRows}, by)
	e := &Explanation{
		Metric: in.Metric, DividedAs: string(metric), Divided: differenceOf(metric, total), Dimensions: []Divided{},
		DateRange: []string{days.From, days.To}, Comparison: []string{earlier.From, earlier.To}, SiteID: site.SiteID,
		Meta: ExplainMeta{TimeZone: site.TimeZone, Source: string(after.Source), Notes: append(append([]string{}, after.Notes...), before.Notes...)},
	}
	e.Total = e.Divided
	if in.Metric == visitors {
		e.visitors(&before, &after)
	}
	if note := site.Unfinished(days.From, days.To); note != "" {
		e.Meta.Notes = append(e.Meta.Notes, note)
	}
	for i := range divisions {
		e.Dimensions = append(e.Dimensions, divided(metric, &divisions[i], in.Limit))
	}
	return e, nil
}

// ranges returns the two ranges.
func (in *ExplainRequest) ranges(site *Site) (days, earlier explore.Range, err error) {
	days.Site, earlier.Site = site.SiteID, site.SiteID
	if days.From, days.To, err = in.DateRange.Of(site); err != nil {
		return days, earlier, err
	}
	if in.Comparisons.Mode == Everything {
		return days, earlier, errorf("bad_comparison", "only queries compare with everything; an explanation compares two ranges of days")
	}
	in.Comparisons.Mode = cmp.Or(in.Comparisons.Mode, "previous_period")
	earlier.From, earlier.To, err = in.Comparisons.Of(site, days.From, days.To, "")
	return days, earlier, err
}

// visitors sets the total of visitors, which is not what the parts add up to.
func (e *Explanation) visitors(before, after *explore.Report) {
	b, a := before.Totals.Visitors, after.Totals.Visitors
	e.Total = Difference{Before: b, After: a, Difference: a - b, Change: change(a, b)}
	e.Meta.Notes = append(e.Meta.Notes, fmt.Sprintf(visitorsAsVisits, signed(e.Divided.Difference)))
}

func signed(n any) string {
	if i, ok := n.(int64); ok {
		return fmt.Sprintf("%+d", i)
	}
	return fmt.Sprint(n)
}

// dividing returns the dimensions by which a metric is divided.
func dividing(site *Site, m contribution.Metric, names []string) ([]analytics.Dimension, error) {
	var all []analytics.Dimension
	for _, d := range site.Dimensions() {
		if m.Divides(d) {
			all = append(all, d)
		}
	}
	if len(names) == 0 {
		return all, nil
	}
	var by []analytics.Dimension
	for _, name := range names {
		d := dimensionOf(name)
		if err := CheckDimension(site, d); err != nil {
			return nil, err
		}
		if !slices.Contains(all, d) {
			return nil, errorf("metric_unavailable", "%s cannot be divided by %.40q: use %s", m, name, joined(all))
		}
		if !slices.Contains(by, d) {
			by = append(by, d)
		}
	}
	return by, nil
}

func joined(all []analytics.Dimension) string {
	names := make([]string, len(all))
	for i, d := range all {
		names[i] = string(d)
	}
	return strings.Join(names, ", ")
}

func divided(m contribution.Metric, d *contribution.Division, limit int) Divided {
	if limit <= 0 {
		limit = defaultParts
	}
	out := Divided{Dimension: string(d.By), Shift: d.Shift, Parts: []Part{}}
	listed := d.Parts[:min(limit, len(d.Parts))]
	for _, p := range listed {
		out.Parts = append(out.Parts, Part{p.Value, differenceOf(m, p.Delta)})
	}
	if left := d.Parts[len(listed):]; len(left) > 0 {
		rest := differenceOf(m, contribution.Rest(left))
		out.Rest, out.RestValues = &rest, len(left)
	}
	if d.Unattributed != (contribution.Delta{}) {
		lost := differenceOf(m, d.Unattributed)
		out.Unattributed = &lost
	}
	return out
}

func differenceOf(m contribution.Metric, d contribution.Delta) Difference {
	before, after := shown(m, d.Before), shown(m, d.After)
	return Difference{Before: before, After: after, Difference: shown(m, d.Difference()), Change: change(after, before)}
}

// shown returns an amount as answers show it: counts as numbers, revenue as text.
func shown(m contribution.Metric, a contribution.Amount) any {
	if m == contribution.Revenue {
		return cmp.Or(string(a), "0")
	}
	return a.Int()
}
