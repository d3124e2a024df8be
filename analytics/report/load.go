package report

import (
	"context"
	"iter"

	"github.com/onefold/onefold/analytics"

	"github.com/onefold/onefold/internal/calendar"
)

// load reads the statistics of the range. Marks are read first, so that a day that is rolled up at
// the same time is answered from its hours or the new roll-up, never from the outdated one.
func (r *reporter) load(ctx context.Context) error {
	fresh, err := r.freshDays(ctx)
	if err != nil {
		return err
	}
	last := calendar.ShiftDay(r.in.To, 1)
	if r.byMonth, err = statsByStart(analytics.StatsByTime.All(ctx, r.t, r.ask(analytics.Month, calendar.MonthOf(r.in.From), calendar.MonthAfter(calendar.MonthOf(r.in.To))))); err != nil {
		return err
	}
	if r.byDay, err = statsByStart(analytics.StatsByTime.All(ctx, r.t, r.ask(analytics.Day, r.in.From, last))); err != nil {
		return err
	}
	for day := range fresh {
		if stored := r.byDay[day]; stored != nil && stored.Sealed(&r.site, r.now) {
			delete(fresh, day)
		}
	}
	r.fresh = fresh
	r.plan = newPlan(r.days, fresh, r.in.Period)
	r.byHour = make(map[string]*analytics.Stats)
	for _, s := range calendar.Spans(r.plan.hours, maxSpans) {
		if err := r.loadHours(ctx, s.From, s.To); err != nil {
			return err
		}
	}
	return r.loadImported(ctx)
}

// ask selects the statistics of buckets that start in [from, to).
func (r *reporter) ask(period analytics.Period, from, to string) analytics.StatsIn {
	return r.site.StatsIn(period, from, to)
}

func (r *reporter) loadHours(ctx context.Context, first, last string) error {
	from, to, err := r.cal.HourRange(first, last)
	if err != nil {
		return err
	}
	hours, err := statsByStart(analytics.StatsByTime.All(ctx, r.t, r.ask(analytics.Hour, from, to)))
	for start, h := range hours {
		r.byHour[start] = h
	}
	return err
}

// freshDays returns the days whose hours are, or may be, newer than their roll-up: marked days and
// days that are not over.
func (r *reporter) freshDays(ctx context.Context) (map[string]bool, error) {
	fresh := make(map[string]bool)
	for m, err := range analytics.DaysToRollUp.All(ctx, r.t, analytics.DaysIn{SiteID: r.in.Site, From: r.in.From, To: calendar.ShiftDay(r.in.To, 1)}) {
		if err != nil {
			return nil, err
		}
		fresh[m.Day] = true
	}
	today := r.cal.Day(r.now)
	for i := len(r.days) - 1; i >= 0 && r.days[i] >= today; i-- {
		fresh[r.days[i]] = true
	}
	return fresh, nil
}

func statsByStart(items iter.Seq2[analytics.Stats, error]) (map[string]*analytics.Stats, error) {
	byStart := make(map[string]*analytics.Stats)
	for s, err := range items {
		if err != nil {
			return nil, err
		}
		if have := byStart[s.Start]; have != nil { // another part of the hour
			have.Merge(&s)
			continue
		}
		byStart[s.Start] = &s
	}
	return byStart, nil
}
