package report

import (
	"context"
	"fmt"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/internal/tally"
	"github.com/onefold/onefold/table"
)

// Hours returns the figures of the hours of a site that start in [from, to), names of hours as in
// Bucket.Start, and all rows of several dimensions. Visits count in the hour in which they start.
// Unlike other reports it ignores imported days, which have no hours. Errors: those of the store.
func Hours(ctx context.Context, t *table.Table, site *analytics.Site, from, to string, by []analytics.Dimension) (Figures, map[analytics.Dimension][]Row, error) {
	r := &reporter{t: t, in: Request{Site: site.SiteID}, site: *site}
	hours, err := statsByStart(analytics.StatsByTime.All(ctx, t, r.ask(analytics.Hour, from, to)))
	if err != nil {
		return Figures{}, nil, fmt.Errorf("analytics: hours of %s: %w", site.SiteID, err)
	}
	for _, h := range hours {
		r.own.Merge(h)
	}
	rows := make(map[analytics.Dimension][]Row, len(by))
	for _, d := range by {
		r.in.By = d
		values, other := make(tally.Values), tally.Count{}
		for b, err := range analytics.BreakdownByTime.All(ctx, t, site.BreakdownIn(analytics.Hour, d, from, to)) {
			if err != nil {
				return Figures{}, nil, fmt.Errorf("analytics: hours of %s by %s: %w", site.SiteID, d, err)
			}
			for v, c := range b.Values {
				values.Add(v, c)
			}
			other = other.Plus(b.Other)
		}
		rows[d] = r.rows(&r.own, values, other)
	}
	return FiguresOf(&r.own), rows, nil
}

// EventsByHour returns how often a value of a dimension occurred in each hour that starts in [from, to):
// conversions, for a goal. Hours without any are absent. Errors: those of the store.
func EventsByHour(ctx context.Context, t *table.Table, site *analytics.Site, by analytics.Dimension, value, from, to string) (map[string]int64, error) {
	all := map[string]int64{}
	for b, err := range analytics.BreakdownByTime.All(ctx, t, site.BreakdownIn(analytics.Hour, by, from, to)) {
		if err != nil {
			return nil, fmt.Errorf("analytics: hours of %s by %s: %w", site.SiteID, by, err)
		}
		if n := b.Values[value].Events; n != 0 {
			all[b.Start] += n
		}
	}
	return all, nil
}
