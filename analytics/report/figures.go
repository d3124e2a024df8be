package report

import (
	"fmt"

	"github.com/onefold/onefold/analytics"

	"github.com/onefold/onefold/internal/calendar"
)

// buckets returns the figures of every bucket of the range, and their sum.
func (r *reporter) buckets() (buckets []Bucket, total analytics.Stats, err error) {
	starts, at := r.starts()
	for _, start := range starts {
		own := at(start)
		r.own.Add(own)
		s := r.withImported(start, own)
		b := Bucket{start, FiguresOf(s)}
		if r.in.Period == analytics.Hour {
			b.Visitors = s.ActiveVisitors
		}
		buckets = append(buckets, b)
		total.Add(s)
	}
	return buckets, total, r.checkKept()
}

// starts returns the buckets of the range, and a function that returns their statistics.
func (r *reporter) starts() (starts []string, at func(string) *analytics.Stats) {
	switch r.in.Period {
	case analytics.Hour:
		for _, day := range r.days {
			starts = append(starts, r.hours(day)...)
		}
		return starts, r.hour
	case analytics.Day:
		return r.days, r.day
	default:
		return calendar.MonthsOf(r.days), r.month
	}
}

// hours returns the hours of a day of the range. It cannot fail, because the days were parsed
// before.
func (r *reporter) hours(day string) []string {
	hours, err := r.cal.Hours(day)
	if err != nil {
		return nil
	}
	return hours
}

func (r *reporter) hour(start string) *analytics.Stats {
	if s := r.byHour[start]; s != nil {
		return s
	}
	return &analytics.Stats{}
}

// day returns the roll-up of a day, or the sum of its hours if they are newer.
func (r *reporter) day(day string) *analytics.Stats {
	if r.fresh[day] {
		return r.sumOfHours(day)
	}
	if s := r.byDay[day]; s != nil {
		return s
	}
	return &analytics.Stats{}
}

func (r *reporter) sumOfHours(day string) *analytics.Stats {
	sum := &analytics.Stats{}
	for _, h := range r.hours(day) {
		sum.Add(r.hour(h))
	}
	return sum
}

// month returns the roll-up of a month, or the sum of its days within the range.
func (r *reporter) month(month string) *analytics.Stats {
	if r.rolledUp(month) {
		if s := r.byMonth[month]; s != nil {
			return s
		}
		return &analytics.Stats{}
	}
	sum := &analytics.Stats{}
	for _, d := range r.days {
		if calendar.MonthOf(d) == month {
			sum.Add(r.day(d))
		}
	}
	return sum
}

// rolledUp reports whether a month is read from its own bucket.
func (r *reporter) rolledUp(month string) bool {
	for _, m := range r.plan.months {
		if m == month {
			return true
		}
	}
	return false
}

// checkKept returns ErrExpired if the report needs buckets that may have expired, which would look
// like zero. Sealed buckets that still equal the sum of their parts are not affected.
func (r *reporter) checkKept() error {
	if r.in.Period == analytics.Hour {
		for _, d := range r.days {
			stored := r.byDay[d]
			if !r.fresh[d] && stored != nil && stored.Sealed(&r.site, r.now) && !stored.Same(r.sumOfHours(d)) {
				return fmt.Errorf("%w: hours of %s; request days", ErrExpired, d)
			}
		}
	}
	for _, m := range calendar.MonthsOf(r.days) {
		stored := r.byMonth[m]
		if r.rolledUp(m) || stored == nil || !stored.Sealed(&r.site, r.now) {
			continue
		}
		if sum := r.sumOfDays(m); sum == nil || !stored.Same(sum) {
			return fmt.Errorf("%w: days of %s; request whole months by month", ErrExpired, m)
		}
	}
	return nil
}

// sumOfDays returns the sum of the days of a month, or nil if the range does not contain all of
// them.
func (r *reporter) sumOfDays(month string) *analytics.Stats {
	first, last := calendar.MonthBounds(month)
	if first < r.in.From || last > r.in.To {
		return nil
	}
	sum := &analytics.Stats{}
	for _, d := range calendar.Days(first, last) {
		sum.Add(r.day(d))
	}
	return sum
}

func totals(s *analytics.Stats) Totals {
	t := Totals{Figures: FiguresOf(s)}
	if s.Visits > 0 {
		rate := float64(s.Bounces) / float64(s.Visits)
		t.BounceRate = &rate
	}
	return t
}

// FiguresOf returns the counts of a bucket in the form shown to people.
func FiguresOf(s *analytics.Stats) Figures {
	f := Figures{
		PageViews: s.PageViews, Visits: s.Visits, Visitors: s.NewVisitors, Events: s.Events,
		Bounces: s.Bounces, Seconds: s.Seconds, Revenue: s.Revenue,
		Conversions: s.Conversions, EngagedSeconds: float64(s.EngagedMS) / 1000,
	}
	if f.Revenue == "" {
		f.Revenue = "0"
	}
	return f
}
