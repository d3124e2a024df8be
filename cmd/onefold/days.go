package main

import (
	"context"
	"time"

	"github.com/onefold/onefold/analytics"
)

// lastDays is how many days are looked at when nobody says from when.
const lastDays = 30

// dayRange fills in the days that were not given: the last is the site's last day with statistics, else today; the
// first is `days` days before, or the site's first for days = 0.
func dayRange(ctx context.Context, s *store, site, from, to string, days int) (string, string, error) {
	if from != "" && to != "" {
		return from, to, nil
	}
	settings, err := analytics.GetSite(ctx, s.table, site)
	if err != nil {
		return "", "", siteError(site, err)
	}
	first, last, err := analytics.Extent(ctx, s.table, &settings)
	if err != nil {
		return "", "", err
	}
	if last == "" {
		zone, err := time.LoadLocation(settings.TimeZone)
		if err != nil {
			return "", "", err
		}
		last = time.Now().In(zone).Format(time.DateOnly)
		first = last
	}
	if to == "" {
		to = last
	}
	if from == "" {
		from = first
		if end, err := time.Parse(time.DateOnly, to); err == nil && days > 0 { // a malformed day is refused by whoever gets it
			from = end.AddDate(0, 0, 1-days).Format(time.DateOnly)
		}
	}
	return from, to, nil
}
