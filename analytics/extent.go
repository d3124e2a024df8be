package analytics

import (
	"context"
	"fmt"
	"time"

	"github.com/onefold/onefold/analytics/imported"
	"github.com/onefold/onefold/internal/calendar"
	"github.com/onefold/onefold/table"
)

// PeriodIn selects the buckets of one period of a site.
type PeriodIn struct {
	SiteID string `dynamodbav:"siteId"`
	Period Period `dynamodbav:"period"`
	Shards []int  `dynamodbav:"-"` // of hours; nil: all possible ones
}

// LatestStats are the statistics of a site, the newest bucket first.
var LatestStats = table.NewQuery(StatsItems, table.QueryDef[PeriodIn]{
	ID: "W7b", Question: "the latest bucket with statistics of a site",
	Prefix: "STATS#{period}#", Desc: true,
	FanOut: "shard", Over: func(in PeriodIn) []int { return shardsOf(in.Period, in.Shards) },
	Example: func(in *PeriodIn) { in.Shards = firstShard },
	Load:    table.Load{PerSecond: 0.1, Items: 1, ItemBytes: 250},
})

// RecentDays fills in the empty ends of a range of days. to becomes the last day with statistics,
// else with imported counts, else today. from becomes the first of the n days that end with to, or
// the site's first day if n is 0. Ends that are given stay as they are.
func RecentDays(ctx context.Context, t *table.Table, siteID, from, to string, n int) (string, string, error) {
	if from != "" && to != "" {
		return from, to, nil
	}
	site, err := GetSite(ctx, t, siteID)
	if err != nil {
		return "", "", err
	}
	first, last, err := Extent(ctx, t, &site)
	if err == nil && last == "" {
		first, last, err = imported.Extent(ctx, t, siteID)
	}
	if err != nil {
		return "", "", err
	}
	if last == "" {
		cal, err := calendar.LoadZone(site.TimeZone)
		if err != nil {
			return "", "", err
		}
		first = cal.Day(t.Now())
		last = first
	}
	if to == "" {
		to = last
	}
	if from == "" {
		from = first
		if end, err := time.Parse(calendar.DayLayout, to); err == nil && n > 0 { // a malformed day is left for the caller to reject
			from = end.AddDate(0, 0, 1-n).Format(calendar.DayLayout)
		}
	}
	return from, to, nil
}

// HasCounts reports whether a site has counts, of its own events or imported.
func HasCounts(ctx context.Context, t *table.Table, site *Site) (bool, error) {
	first, _, err := Extent(ctx, t, site)
	if err == nil && first == "" {
		first, _, err = imported.Extent(ctx, t, site.SiteID)
	}
	return first != "", err
}

// Extent returns the first and last day with statistics, YYYY-MM-DD in the site's zone, or "".
// Where only months are left, whole months count. It makes at most six Query calls of one item.
func Extent(ctx context.Context, t *table.Table, site *Site) (first, last string, err error) {
	cal, err := calendar.LoadZone(site.TimeZone)
	if err != nil {
		return "", "", err
	}
	for _, period := range []Period{Hour, Day, Month} {
		from, to, err := extent(ctx, t, cal, PeriodIn{site.SiteID, period, site.shards()})
		switch {
		case err != nil:
			return "", "", fmt.Errorf("analytics: extent of %s: %w", site.SiteID, err)
		case from == "":
		case first == "":
			first, last = from, to
		default: // a coarser bucket starts before its first finer bucket and ends after its last
			if calendar.MonthOf(from) < calendar.MonthOf(first) || period == Day && from < first {
				first = from
			}
			if calendar.MonthOf(to) > calendar.MonthOf(last) || period == Day && to > last {
				last = to
			}
		}
	}
	return first, last, nil
}

// extent returns the first day of a period's oldest bucket and the last day of its newest, or "".
func extent(ctx context.Context, t *table.Table, cal calendar.Zone, in PeriodIn) (from, to string, err error) {
	newest, err := LatestStats.Page(ctx, t, in, "", 1)
	if err != nil || len(newest.Items) == 0 {
		return "", "", err
	}
	oldest, err := StatsByTime.Page(ctx, t, StatsIn{SiteID: in.SiteID, Period: in.Period, Shards: in.Shards}, "", 1)
	if err != nil || len(oldest.Items) == 0 {
		return "", "", err
	}
	if from, _, err = oldest.Items[0].Days(cal); err == nil {
		_, to, err = newest.Items[0].Days(cal)
	}
	return from, to, err
}

// Days returns the first and last day of a bucket.
func (k *StatsKey) Days(cal calendar.Zone) (from, to string, err error) {
	switch k.Period {
	case Hour:
		at, err := time.Parse(calendar.HourLayout, k.Start)
		if err != nil {
			return "", "", fmt.Errorf("analytics: hour %q: %w", k.Start, err)
		}
		return cal.Day(at), cal.Day(at), nil
	case Month:
		from, to := calendar.MonthBounds(k.Start)
		return from, to, nil
	default:
		return k.Start, k.Start, nil
	}
}
