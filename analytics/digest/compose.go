package digest

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/contribution"
	"github.com/onefold/onefold/analytics/goals"
	"github.com/onefold/onefold/analytics/report"
	"github.com/onefold/onefold/analytics/wording"
	"github.com/onefold/onefold/internal/calendar"
	"github.com/onefold/onefold/table"
)

// Bounds of a report, which is stored once per recipient.
const (
	listRows = 5
)

// Content is what a report says. Its JSON form is part of webhooks.
type Content struct {
	SiteID     string         `json:"siteId"`
	SiteName   string         `json:"siteName"`
	ReportID   string         `json:"reportId"`
	Every      Every          `json:"every"`
	TimeZone   string         `json:"timezone"`
	From       string         `json:"from"` // days, inclusive
	To         string         `json:"to"`
	BeforeFrom string         `json:"beforeFrom"`
	BeforeTo   string         `json:"beforeTo"`
	Currency   string         `json:"currency,omitempty"`
	Figures    []Figure       `json:"figures"`
	Bars       []Bar          `json:"visitors"`
	Lists      []List         `json:"lists"`
	Cause      *wording.Cause `json:"cause,omitempty"`
	Note       string         `json:"note,omitempty"`
}

// Figure is a metric of the period and of the one before.
type Figure struct {
	Metric string  `json:"metric"`
	Label  string  `json:"label"`
	After  float64 `json:"after"`
	Before float64 `json:"before"`
	// Text is After as an exact decimal, for amounts of money.
	Text string `json:"text,omitempty"`
}

// Bar is the visitors of an hour, for daily reports, or of a day.
type Bar struct {
	Start    string `json:"start"`
	Visitors int64  `json:"visitors"`
}

// List is the top values of a dimension.
type List struct {
	By    analytics.Dimension `json:"by"`
	Label string              `json:"label"`
	Unit  string              `json:"unit"`
	Rows  []Row               `json:"rows"`
}

// Row is a value with its counts.
type Row struct {
	Value  string `json:"value"`
	After  int64  `json:"after"`
	Before int64  `json:"before"`
}

// leastChange is the change of visits, relative to those before, from which on its cause is named.
const leastChange = 0.05

// compose computes a report.
func compose(ctx context.Context, t *table.Table, site *analytics.Site, r *Report, p periods) (*Content, error) {
	by := dimensions(site)
	period := analytics.Day
	if r.Every == Daily {
		period = analytics.Hour
	}
	after, afterRows, err := report.Breakdowns(ctx, t, report.Request{Site: site.SiteID, From: p.from, To: p.to, Period: period}, by)
	if err != nil {
		return nil, err
	}
	before, beforeRows, err := report.Breakdowns(ctx, t, report.Request{Site: site.SiteID, From: p.beforeFrom, To: p.beforeTo}, by)
	if err != nil {
		return nil, err
	}
	reached, err := goals.List(ctx, t, site.SiteID)
	if err != nil {
		return nil, err
	}
	c := &Content{
		SiteID: site.SiteID, SiteName: cmp.Or(r.Name, site.Name, site.SiteID), ReportID: r.ReportID, Every: r.Every, TimeZone: site.TimeZone,
		From: p.from, To: p.to, BeforeFrom: p.beforeFrom, BeforeTo: p.beforeTo, Currency: site.Currency,
		Figures: figures(&after.Totals, &before.Totals), Bars: []Bar{}, Lists: lists(afterRows, beforeRows, reached),
		Cause: cause(&contribution.Side{Totals: before.Totals.Figures, Rows: beforeRows}, &contribution.Side{Totals: after.Totals.Figures, Rows: afterRows}, by),
	}
	for i := range after.Buckets {
		c.Bars = append(c.Bars, Bar{after.Buckets[i].Start, after.Buckets[i].Visitors})
	}
	if after.Imported != nil {
		c.Note = after.Imported.Note
	}
	return c, nil
}

// dimensions returns the dimensions that a report reads: those that divide visits, and those of lists.
func dimensions(site *analytics.Site) []analytics.Dimension {
	var all []analytics.Dimension
	for _, d := range site.Dimensions() {
		if contribution.Visits.Divides(d) || slices.ContainsFunc(listed, func(l listing) bool { return l.by == d }) {
			all = append(all, d)
		}
	}
	return all
}

func figures(after, before *report.Totals) []Figure {
	of := func(metric, label string, get func(*report.Totals) float64) Figure {
		return Figure{Metric: metric, Label: label, After: get(after), Before: get(before)}
	}
	all := []Figure{
		of("visitors", "Visitors", func(t *report.Totals) float64 { return float64(t.Visitors) }),
		of("visits", "Visits", func(t *report.Totals) float64 { return float64(t.Visits) }),
		of("pageviews", "Page views", func(t *report.Totals) float64 { return float64(t.PageViews) }),
		of("bounce_rate", "Bounce rate", func(t *report.Totals) float64 { return ratio(t.Bounces, t.Visits) }),
		of("visit_duration", "Visit duration", func(t *report.Totals) float64 { return ratio(t.Seconds, t.Visits) }),
	}
	if after.Conversions > 0 || before.Conversions > 0 {
		all = append(all, of("conversions", "Conversions", func(t *report.Totals) float64 { return float64(t.Conversions) }))
	}
	money := of("total_revenue", "Revenue", func(t *report.Totals) float64 { return contribution.Amount(t.Revenue).Float() })
	if money.Text = after.Revenue; money.After != 0 || money.Before != 0 {
		all = append(all, money)
	}
	return all
}

func ratio(part, whole int64) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

// listing declares a list of a report.
type listing struct {
	by          analytics.Dimension
	label, unit string
	count       func(*report.Row) int64
}

var listed = []listing{
	{analytics.BySource, "Top sources", "Visits", func(r *report.Row) int64 { return r.Visits }},
	{analytics.ByPage, "Top pages", "Page views", func(r *report.Row) int64 { return r.PageViews }},
	{analytics.ByGoal, "Goals", "Conversions", func(r *report.Row) int64 { return r.Events }},
	{analytics.ByCountry, "Top countries", "Visits", func(r *report.Row) int64 { return r.Visits }},
}

func lists(after, before map[analytics.Dimension][]report.Row, reached []goals.Goal) []List {
	all := []List{}
	for _, l := range listed {
		counts := map[string]int64{}
		for i := range before[l.by] {
			counts[before[l.by][i].Value] = l.count(&before[l.by][i])
		}
		rows := []Row{}
		for i := range after[l.by] {
			row := &after[l.by][i]
			if n := l.count(row); n > 0 && (row.Value != analytics.None || l.by == analytics.BySource) {
				rows = append(rows, Row{row.Value, n, counts[row.Value]})
			}
		}
		slices.SortStableFunc(rows, func(x, y Row) int { return cmp.Or(cmp.Compare(y.After, x.After), strings.Compare(x.Value, y.Value)) })
		rows = rows[:min(len(rows), listRows)]
		for i := range rows {
			rows[i].Value = wording.Value(l.by, rows[i].Value, reached)
		}
		if len(rows) > 0 {
			all = append(all, List{l.by, l.label, l.unit, rows})
		}
	}
	return all
}

// cause names what made the change of visits, if it is worth it and something stands out.
func cause(before, after *contribution.Side, by []analytics.Dimension) *wording.Cause {
	total, _ := contribution.Of(contribution.Visits, before, after, nil)
	change := total.Difference().Int()
	if float64(max(change, -change)) < leastChange*float64(total.Before.Int()) {
		return nil
	}
	return wording.CauseOf(before, after, by)
}

// spanDays returns the days of a range.
func (c *Content) spanDays() int { return calendar.DaysBetween(c.From, c.To) + 1 }
