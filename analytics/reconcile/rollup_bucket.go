package reconcile

import (
	"context"
	"maps"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/internal/tally"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/internal/calendar"
)

const (
	rollReaders = 8 // dimensions of a bucket read concurrently
	rollWriters = 8
)

// rolling is a bucket to compute, and the half-open range of the finer tier to sum.
type rolling struct {
	period   analytics.Period
	start    string
	of       analytics.Period
	from, to string
	endDay   string // day after the bucket
	complete bool   // the finer tier is known to be complete: compute the bucket even if it seems final
}

func (r *roller) ofDay(day string) (rolling, error) {
	from, to, err := r.cal.HourRange(day, day)
	return rolling{period: analytics.Day, start: day, of: analytics.Hour, from: from, to: to, endDay: calendar.ShiftDay(day, 1)}, err
}

func (r *roller) ofMonth(month string) rolling {
	first, last := calendar.MonthBounds(month)
	next := calendar.ShiftDay(last, 1)
	return rolling{period: analytics.Month, start: month, of: analytics.Day, from: first, to: next, endDay: next}
}

// rollChange is an item of a bucket that differs from the sum of the finer tier.
type rollChange struct {
	difference Difference
	apply      func(context.Context) error // writes the sum if the item is unchanged
}

// changes finds the items of a bucket that differ from the sum of the finer tier. The versions of
// the items are read before their sources, so that a concurrent roll-up is noticed. final reports
// that the bucket must stay as it is.
func (r *roller) changes(ctx context.Context, b rolling) (changes []rollChange, final bool, err error) {
	stats, final, err := r.changedStats(ctx, b)
	if err != nil || final {
		return nil, final, err
	}
	dimensions := r.site.Breakdowns()
	keys := make([]analytics.BreakdownKey, len(dimensions))
	for i, d := range dimensions {
		keys[i] = analytics.BreakdownKey{SiteID: r.site.SiteID, Period: b.period, Dimension: d, Start: b.start}
	}
	stored, err := fold.Load(ctx, r.t, analytics.Breakdowns, keys)
	if err != nil {
		return nil, false, err
	}
	found := make([]*rollChange, 1+len(keys))
	found[0] = stats
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(rollReaders)
	for i, key := range keys {
		g.Go(func() (err error) {
			found[1+i], err = r.changedBreakdown(ctx, b, key, stored[i])
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, false, err
	}
	for _, c := range found {
		if c != nil {
			changes = append(changes, *c)
		}
	}
	return changes, false, nil
}

func (r *roller) changedStats(ctx context.Context, b rolling) (change *rollChange, final bool, err error) {
	key := analytics.StatsKey{SiteID: r.site.SiteID, Period: b.period, Start: b.start}
	loaded, err := fold.Load(ctx, r.t, analytics.StatsItems, []analytics.StatsKey{key})
	if err != nil {
		return nil, false, err
	}
	stored := loaded[0]
	sum := analytics.Stats{StatsKey: key}
	for s, err := range analytics.StatsByTime.All(ctx, r.t, r.site.StatsIn(b.of, b.from, b.to)) {
		if err != nil {
			return nil, false, err
		}
		sum.Add(&s)
	}
	switch {
	case !b.complete && r.final(&stored.State, &sum):
		return nil, true, nil
	case stored.State.Same(&sum) && stored.State.Since == sum.Since && stored.State.Until == sum.Until:
		return nil, false, nil
	}
	if sum.ExpiresAt, err = r.expires(b, sum.Until); err != nil {
		return nil, false, err
	}
	return &rollChange{
		difference: differenceOf(kindOfStats, key, stored, &sum),
		apply: func(ctx context.Context) error {
			return fold.ReplaceState(ctx, r.t, analytics.StatsItems, key, sum, stored.Version)
		},
	}, false, nil
}

// final reports whether a bucket must not be recomputed, because a source may have expired by its
// age, or has expired: its first counted fact is no longer counted below.
func (r *roller) final(stored, sum *analytics.Stats) bool {
	if stored.Since == 0 {
		return false
	}
	return stored.Sealed(&r.site, r.now) || sum.Since == 0 || sum.Since > stored.Since
}

func (r *roller) changedBreakdown(ctx context.Context, b rolling, key analytics.BreakdownKey, stored fold.Stored[analytics.Breakdown]) (*rollChange, error) {
	sum := analytics.Breakdown{BreakdownKey: key}
	all := make(tally.Values)
	for part, err := range analytics.BreakdownByTime.All(ctx, r.t, r.site.BreakdownIn(b.of, key.Dimension, b.from, b.to)) {
		if err != nil {
			return nil, err
		}
		for v, c := range part.Values {
			all.Add(v, c)
		}
		sum.Other = sum.Other.Plus(part.Other)
		sum.Arrivals.Merge(part.Arrivals)
	}
	sum.Take(all)
	if sameBreakdown(&stored.State, &sum) {
		return nil, nil
	}
	var err error
	if sum.ExpiresAt, err = r.expires(b, sum.Until); err != nil {
		return nil, err
	}
	return &rollChange{
		difference: differenceOf(kindOfBreakdown, key, stored, &sum),
		apply: func(ctx context.Context) error {
			if sum.Empty() {
				return fold.RemoveState(ctx, r.t, analytics.Breakdowns, key, stored.Version)
			}
			return fold.ReplaceState(ctx, r.t, analytics.Breakdowns, key, sum, stored.Version)
		},
	}, nil
}

// sameBreakdown compares two breakdowns that were computed in one step from the same parts.
func sameBreakdown(a, b *analytics.Breakdown) bool {
	return maps.Equal(a.Values, b.Values) && a.Other == b.Other && a.Full == b.Full && a.Since == b.Since && a.Until == b.Until
}

// expires returns when a rolled-up bucket may be deleted: its lifetime counts from its end or from
// the arrival of its last fact, whichever is later.
func (r *roller) expires(b rolling, until int64) (time.Time, error) {
	keep := r.site.Retention.Of(b.period)
	if keep == 0 {
		return time.Time{}, nil
	}
	end, err := r.cal.Start(b.endDay)
	if last := time.Unix(until, 0); last.After(end) {
		end = last
	}
	return end.Add(keep), err
}
