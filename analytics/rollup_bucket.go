package analytics

import (
	"context"
	"maps"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/onefold/onefold/analytics/internal/tally"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/internal/calendar"
	"github.com/onefold/onefold/internal/decimal"
)

const (
	rollReaders = 8 // dimensions of a bucket that are read at once
	rollWriters = 8
)

// rolling is a bucket to make, and the half-open range of the tier below that it is made of.
type rolling struct {
	period   Period
	start    string
	of       Period
	from, to string
	endDay   string // the day after the bucket
	complete bool   // the tier below is known to be complete, so the bucket is made even if it looks final
}

func (r *roller) ofDay(day string) (rolling, error) {
	from, to, err := r.cal.HourRange(day, day)
	return rolling{period: Day, start: day, of: Hour, from: from, to: to, endDay: calendar.ShiftDay(day, 1)}, err
}

func (r *roller) ofMonth(month string) rolling {
	first, last := calendar.MonthBounds(month)
	next := calendar.ShiftDay(last, 1)
	return rolling{period: Month, start: month, of: Day, from: first, to: next, endDay: next}
}

// rollChange is one item of a bucket that is not the sum of the tier below.
type rollChange struct {
	difference Difference
	apply      func(context.Context) error // writes the sum, on condition that the item was not written meanwhile
}

// changes finds what has to be written so that a bucket is the sum of the tier below. The versions of the items are
// read before what they are made of. final says that the bucket is to be left as it is.
func (r *roller) changes(ctx context.Context, b rolling) (changes []rollChange, final bool, err error) {
	stats, final, err := r.changedStats(ctx, b)
	if err != nil || final {
		return nil, final, err
	}
	dimensions := r.site.Dimensions()
	keys := make([]BreakdownKey, len(dimensions))
	for i, d := range dimensions {
		keys[i] = BreakdownKey{r.site.SiteID, b.period, d, b.start}
	}
	stored, err := fold.Load(ctx, r.t, Breakdowns, keys)
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
	key := StatsKey{r.site.SiteID, b.period, b.start}
	loaded, err := fold.Load(ctx, r.t, StatsItems, []StatsKey{key})
	if err != nil {
		return nil, false, err
	}
	stored := loaded[0]
	sum := Stats{StatsKey: key}
	for s, err := range StatsByTime.All(ctx, r.t, StatsIn{r.site.SiteID, b.of, b.from, b.to}) {
		if err != nil {
			return nil, false, err
		}
		addStats(&sum, &s)
	}
	switch {
	case !b.complete && r.final(&stored.State, &sum):
		return nil, true, nil
	case sameCounts(&stored.State, &sum) && stored.State.Since == sum.Since && stored.State.Until == sum.Until:
		return nil, false, nil
	}
	if sum.ExpiresAt, err = r.expires(b, sum.Until); err != nil {
		return nil, false, err
	}
	return &rollChange{
		difference: differenceOf(kindOfStats, key, stored, &sum),
		apply: func(ctx context.Context) error {
			return fold.ReplaceState(ctx, r.t, StatsItems, key, sum, stored.Version)
		},
	}, false, nil
}

// final reports whether a bucket must not be made again: some of what it was made of may have expired, by its age, or
// has, as the first fact that it counts is no longer counted below.
func (r *roller) final(stored, sum *Stats) bool {
	if stored.Since == 0 {
		return false
	}
	return sealed(stored, r.site.Retention, r.now) || sum.Since == 0 || sum.Since > stored.Since
}

func (r *roller) changedBreakdown(ctx context.Context, b rolling, key BreakdownKey, stored fold.Stored[Breakdown]) (*rollChange, error) {
	sum := Breakdown{BreakdownKey: key}
	all := make(tally.Values)
	for part, err := range BreakdownByTime.All(ctx, r.t, BreakdownIn{key.SiteID, b.of, key.Dimension, b.from, b.to}) {
		if err != nil {
			return nil, err
		}
		for v, c := range part.Values {
			all.Add(v, c)
		}
		sum.Other = sum.Other.Plus(part.Other)
		sum.Kept.merge(part.Kept)
	}
	tally.Bounded{Values: &sum.Values, Other: &sum.Other, Full: &sum.Full}.Merge(all)
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
			if sum.empty() {
				return fold.RemoveState(ctx, r.t, Breakdowns, key, stored.Version)
			}
			return fold.ReplaceState(ctx, r.t, Breakdowns, key, sum, stored.Version)
		},
	}, nil
}

// sameBreakdown compares two breakdowns that were made in one go of the same parts.
func sameBreakdown(a, b *Breakdown) bool {
	return maps.Equal(a.Values, b.Values) && a.Other == b.Other && a.Full == b.Full && a.Since == b.Since && a.Until == b.Until
}

// addStats adds the counts of a part to those of a longer bucket.
func addStats(sum, part *Stats) {
	sum.PageViews += part.PageViews
	sum.Events += part.Events
	sum.NewVisitors += part.NewVisitors
	sum.Visits += part.Visits
	sum.Bounces += part.Bounces
	sum.Seconds += part.Seconds
	sum.Revenue = decimal.Add(sum.Revenue, part.Revenue)
	sum.Conversions += part.Conversions
	sum.EngagedMS += part.EngagedMS
	sum.Kept.merge(part.Kept)
}

// expires is when a rolled-up bucket may be deleted: its lifetime after its end, or after the arrival of its last fact.
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
