package explore

import (
	"context"
	"fmt"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/internal/calendar"
)

// Source says what an answer is made of.
type Source string

// The sources.
const (
	FromStatistics Source = "statistics" // what the folds keep
	FromRaw        Source = "raw"        // raw events
)

// Report is a report on the visits that filters select. Buckets of days whose raw events are gone are left out.
type Report struct {
	analytics.ReportOut
	Notes []string // what it leaves out, for people
}

// Report counts visits by bucket, and by the values of a dimension if there is one: also of custom properties that the
// site does not list. Without filters it says what analytics.Report says, as far as raw events last; values of events and
// pages also count their visits and visitors. Errors: ErrQuestion, ErrTooMuch, ErrGone, table.ErrNotFound.
func (x *Explorer) Report(ctx context.Context, in analytics.ReportIn, filters []Filter) (Report, error) {
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

// report says of a cube what is asked for.
func (c *cube) report(in analytics.ReportIn) (Report, error) {
	starts, err := c.scan.starts(in.Period)
	if err != nil {
		return Report{}, err
	}
	p := c.periods[in.Period]
	out := Report{Notes: append([]string{}, c.scan.notes()...)}
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

// people divides visits by visitor. The visits of a visitor follow each other.
func people(all []*visit) func(yield func([]*visit) bool) {
	return func(yield func([]*visit) bool) {
		for len(all) > 0 {
			n := 1
			for n < len(all) && all[n].who == all[0].who {
				n++
			}
			if !yield(all[:n]) {
				return
			}
			all = all[n:]
		}
	}
}

// maxHourDays is the longest range by hour, in days, as of reports.
const maxHourDays = 366

// checkPeriod refuses what buckets cannot be made of.
func (r *Range) checkPeriod(period analytics.Period) error {
	if err := r.check(); err != nil {
		return err
	}
	switch n := calendar.DaysBetween(r.From, r.To) + 1; {
	case period != analytics.Hour && period != analytics.Day && period != analytics.Month:
		return fmt.Errorf("%w: period %q: want hour, day or month", ErrQuestion, period)
	case period == analytics.Hour && n > maxHourDays:
		return fmt.Errorf("%w: %d days by hour: at most %d", ErrQuestion, n, maxHourDays)
	}
	return nil
}

// starts names the buckets of the days that are there.
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
	names   calendar.HourNames
	total   counts
	buckets map[string]*counts
}

func (c *counter) bucket(day string, hour int64) *counts {
	start := day
	switch c.period {
	case analytics.Hour:
		start = c.names.Of(hour)
	case analytics.Month:
		start = calendar.MonthOf(day)
	}
	b := c.buckets[start]
	if b == nil {
		b = new(counts)
		c.buckets[start] = b
	}
	return b
}

// count counts the visits of one visitor's day. A visitor counts once a day; by hour, once in each with an event of a
// visit.
func (c *counter) count(day string, mine []*visit) {
	c.total.Visitors++
	if c.period != analytics.Hour {
		c.bucket(day, 0).Visitors++
	}
	active := make(map[int64]bool, 4)
	for _, v := range mine {
		started := c.bucket(day, v.StartHour())
		for _, b := range []*counts{&c.total, started} {
			b.addVisit(v)
			b.addGoals(v)
		}
		for i := range v.facts {
			f := &v.facts[i]
			active[f.hour] = active[f.hour] || !f.silent
			c.total.addFact(f)
			c.bucket(day, f.hour).addFact(f)
		}
	}
	if c.period == analytics.Hour {
		for hour, is := range active {
			if is {
				c.bucket(day, hour).Visitors++
			}
		}
	}
}

func (c *counter) inOrder(starts []string) []analytics.Bucket {
	buckets := make([]analytics.Bucket, len(starts))
	for i, start := range starts {
		b := c.buckets[start]
		if b == nil {
			b = new(counts)
		}
		buckets[i] = analytics.Bucket{Start: start, Figures: b.figures()}
	}
	return buckets
}
