package explore

import (
	"context"
	"fmt"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/report"
	"github.com/onefold/onefold/internal/calendar"
)

// Source is the source of an answer.
type Source string

// The sources.
const (
	FromStatistics Source = "statistics" // derived items
	FromRaw        Source = "raw"        // raw events
	FromArchive    Source = "warehouse"  // raw events, partly from the Archive
)

// Report is a report on filtered visits. Buckets of days whose raw events are gone are omitted.
type Report struct {
	report.Report
	Source Source
	Notes  []string // what the report omits, for people
	Lost   []string // days of the range that are omitted, because their raw events have expired
}

// Report counts visits by bucket and, if in.By is set, by the values of a dimension, including
// custom properties that the site does not list. Without filters it equals report.Make for days
// with raw events; in addition, values of events and pages have visits and visitors. Errors:
// ErrQuestion, ErrTooMuch, ErrGone, table.ErrNotFound.
func (x *Explorer) Report(ctx context.Context, in report.Request, filters []Filter) (Report, error) {
	if in.Period == "" {
		in.Period = analytics.Day
	}
	if _, known := facetOf(in.By); in.By != "" && !known {
		return Report{}, unknownDimension(in.By)
	}
	r := Range{in.Site, in.From, in.To}
	if err := r.checkPeriod(in.Period); err != nil {
		return Report{}, err
	}
	c, err := x.cube(ctx, r, filters, in.By)
	if err != nil {
		return Report{}, err
	}
	return c.report(in)
}

// report returns the requested part of a cube.
func (c *cube) report(in report.Request) (Report, error) {
	starts, err := c.scan.starts(in.Period)
	if err != nil {
		return Report{}, err
	}
	p := c.periods[in.Period]
	out := Report{Source: c.scan.source(), Notes: append([]string{}, c.scan.notes()...), Lost: c.scan.lost}
	out.Site, out.From, out.To, out.Period, out.TimeZone = in.Site, in.From, in.To, in.Period, c.scan.site.TimeZone
	out.Buckets = p.inOrder(starts)
	out.Totals.Figures = p.total.figures()
	out.Totals.BounceRate = ratio(p.total.Bounces, p.total.Visits)
	if values := c.values[in.By]; values != nil {
		out.Top = values.rows(in.By)
		out.Notes = append(out.Notes, values.notes()...)
	}
	if in.Limit > 0 {
		out.Top = out.Top[:min(in.Limit, len(out.Top))]
	}
	return out, nil
}

// maxHourDays is the longest range by hour, in days, as in package report.
const maxHourDays = 366

// checkPeriod validates the range and period. Errors: ErrQuestion.
func (r *Range) checkPeriod(period analytics.Period) error {
	if err := r.check(); err != nil {
		return err
	}
	switch n := calendar.DaysBetween(r.From, r.To) + 1; {
	case period != analytics.Hour && period != analytics.Day && period != analytics.Month:
		return fmt.Errorf("%w: period %q: want hour, day or month", ErrQuestion, period)
	case period == analytics.Hour && n > maxHourDays:
		return fmt.Errorf("%w: %d days by hour: use at most %d", ErrQuestion, n, maxHourDays)
	}
	return nil
}

// starts returns the buckets of the available days.
func (s *scan) starts(period analytics.Period) ([]string, error) {
	switch period {
	case analytics.Month:
		return calendar.MonthsOf(s.days), nil
	case analytics.Day:
		return s.days, nil
	}
	var hours []string
	for _, day := range s.days {
		of, err := s.cal.Hours(day)
		if err != nil {
			return nil, err
		}
		hours = append(hours, of...)
	}
	return hours, nil
}

// counter counts visits by bucket.
type counter struct {
	period  analytics.Period
	total   counts
	buckets map[string]*counts
}

func (c *counter) bucket(start string) *counts {
	b := c.buckets[start]
	if b == nil {
		b = new(counts)
		c.buckets[start] = b
	}
	return b
}

// count counts the selected visits of a day. A visitor counts once a day, and by hour in each hour
// in which they have an event of a visit.
func (c *counter) count(day *tally) {
	switch c.period {
	case analytics.Hour:
		c.countHours(day)
		return
	case analytics.Day:
		c.countWhole(day, c.bucket(day.name))
	default:
		c.countWhole(day, c.bucket(calendar.MonthOf(day.name)))
	}
}

func (c *counter) countWhole(day *tally, bucket *counts) {
	d, last := day.columns, int64(-1)
	for _, sum := range []*counts{&c.total, bucket} {
		for i, v := range day.chosen {
			if who := int64(d.visitor[v]); who != last {
				last = who
				sum.Visitors++
			}
			sum.addVisit(d, v)
			sum.addGoals(d, v)
			sum.add(&day.sums[i])
		}
		last = -1
	}
}

func (c *counter) countHours(day *tally) {
	d := day.columns
	c.countWhole(day, new(counts)) // only for the total
	started, happened := c.hours(&d.started), c.hours(&d.hour)
	seen := make([]int64, len(happened)) // by hour, the last visitor with an event in it, numbered from 1
	for _, v := range day.chosen {
		started[d.started.at(v)].addVisit(d, v)
		started[d.started.at(v)].addGoals(d, v)
		who := int64(d.visitor[v]) + 1
		for e, end := d.events(v); e < end; e++ {
			hour := d.hour.at(e)
			happened[hour].addEvent(d, e)
			if seen[hour] != who && !d.isSilent(e) {
				seen[hour] = who
				happened[hour].Visitors++
			}
		}
	}
}

// hours returns the buckets of a column's hours.
func (c *counter) hours(of *column) []*counts {
	buckets := make([]*counts, len(of.values))
	for i, start := range of.values[1:] {
		buckets[i+1] = c.bucket(start)
	}
	return buckets
}

func (c *counter) inOrder(starts []string) []report.Bucket {
	buckets := make([]report.Bucket, len(starts))
	for i, start := range starts {
		b := c.buckets[start]
		if b == nil {
			b = new(counts)
		}
		buckets[i] = report.Bucket{Start: start, Figures: b.figures()}
	}
	return buckets
}
