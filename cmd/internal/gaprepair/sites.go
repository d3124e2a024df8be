package gaprepair

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/reconcile"
	"github.com/onefold/onefold/internal/calendar"
	"github.com/onefold/onefold/table"
)

// sitesAtOnce is the number of days, of different sites, recomputed in parallel. The statistics of
// a day's events are in memory meanwhile.
const sitesAtOnce = 4

// sites rebuilds all days of all sites that still have their raw events. A gap may affect any day,
// because events arrive late, are imported, are assigned to new goals, and are erased.
func (r *rebuild) sites(ctx context.Context) error {
	sites := make(map[string]*analytics.Site)
	byDay := make(map[string][]string) // units of work, "DAY SITE", by day
	for site, err := range analytics.ListSites(ctx, r.Table, "") {
		if err != nil {
			return err
		}
		days, err := r.daysOf(ctx, &site)
		if err != nil {
			return fmt.Errorf("site %s: %w", site.SiteID, err)
		}
		sites[site.SiteID] = &site
		r.result.sites++
		for _, day := range days {
			byDay[day] = append(byDay[day], day+" "+site.SiteID)
		}
	}
	var names []string
	for _, of := range byDay {
		names = append(names, of...)
	}
	slices.Sort(names)
	return r.inBatches(ctx, "days of sites", names, sitesAtOnce, func(ctx context.Context, name string) error {
		day, id, _ := strings.Cut(name, " ")
		return r.day(ctx, sites[id], day)
	})
}

// daysOf returns the days of a site, in its time zone, that may have raw events, or had them during
// the gap. Days without events are checked as well, unless they are sealed: all of their events may
// have been deleted.
func (r *rebuild) daysOf(ctx context.Context, site *analytics.Site) (days []string, err error) {
	zone, err := calendar.LoadZone(site.TimeZone)
	if err != nil {
		return nil, err
	}
	now := r.Table.Now()
	first := earlier(r.since.Add(-usuallyWithin), now.Add(-site.Retention.Late()))
	e, err := analytics.EventsBetween(site, time.UnixMilli(0), first, "").First(ctx, r.Table)
	if err == nil {
		first, err = e.Time()
	}
	if err != nil && !errors.Is(err, table.ErrNotFound) {
		return nil, err
	}
	for _, day := range calendar.Days(zone.Day(first), zone.Day(now)) {
		some, err := r.anything(ctx, site, &zone, day)
		if err != nil {
			return nil, err
		}
		if some {
			days = append(days, day)
		}
	}
	return days, nil
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// anything reports whether a day has events or anything derived from events.
func (r *rebuild) anything(ctx context.Context, site *analytics.Site, zone *calendar.Zone, day string) (bool, error) {
	from, to, err := zone.Bounds(day)
	if err != nil {
		return false, err
	}
	firstHour, lastHour, err := zone.HourRange(day, day)
	if err != nil {
		return false, err
	}
	for _, look := range []func() error{
		func() error {
			_, err := analytics.EventsBetween(site, from, to, "").First(ctx, r.Table)
			return err
		},
		func() error {
			_, err := analytics.StatsByTime.First(ctx, r.Table, site.StatsIn(analytics.Hour, firstHour, lastHour))
			return err
		},
		func() error {
			return r.anyVisits(ctx, site, day)
		},
	} {
		if err := look(); !errors.Is(err, table.ErrNotFound) {
			return err == nil, err
		}
	}
	return false, nil
}

// anyVisits returns table.ErrNotFound if a day has no visitors.
func (r *rebuild) anyVisits(ctx context.Context, site *analytics.Site, day string) error {
	for _, shard := range site.Sharding.Over(time.Time{}, time.Time{}) {
		_, err := analytics.VisitPagesOfDay.First(ctx, r.Table, analytics.DayOfVisitsIn{SiteID: site.SiteID, Shard: shard, Day: day})
		if !errors.Is(err, table.ErrNotFound) {
			return err
		}
	}
	return table.ErrNotFound
}

// usuallyWithin is the maximum time between an event and its arrival for events that do not record
// their arrival.
const usuallyWithin = 24 * time.Hour

func (r *rebuild) day(ctx context.Context, site *analytics.Site, day string) error {
	found, err := reconcile.Rebuild(ctx, r.Table, r.drain, reconcile.RangeIn{Site: site.SiteID, From: day, To: day}, nil)
	if errors.Is(err, analytics.ErrSealed) {
		return r.sealedDay(ctx, site, day)
	}
	if err != nil && !errors.Is(err, table.ErrNotFound) { // nothing to check for a site deleted meanwhile
		return err
	}
	r.note(func(d *result) {
		d.days++
		d.items += int(found.Count)
		for _, key := range found.Busy {
			d.busy = append(d.busy, site.SiteID+" "+key)
		}
	})
	return nil
}

// sealedDay records a day that cannot be recomputed, if it has events from the time of the gap.
// Whether other events were deleted during the gap can no longer be seen.
func (r *rebuild) sealedDay(ctx context.Context, site *analytics.Site, day string) error {
	zone, err := calendar.LoadZone(site.TimeZone)
	if err != nil {
		return err
	}
	from, to, err := zone.Bounds(day)
	if err != nil {
		return err
	}
	for e, err := range analytics.EventsBetween(site, from, to, "").All(ctx, r.Table) {
		if err != nil {
			return err
		}
		at, err := e.Time()
		if err != nil {
			return err
		}
		if e.Arrived >= r.since.Unix() || at.After(r.since.Add(-usuallyWithin)) {
			r.note(func(d *result) { d.sealedDays = append(d.sealedDays, site.SiteID+" "+day) })
			return nil
		}
	}
	return nil
}
