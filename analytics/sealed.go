package analytics

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/onefold/onefold/internal/calendar"
	"github.com/onefold/onefold/table"
)

// ErrSealed is returned for a bucket that is no longer recomputed, because some of its sources may
// have expired: it would shrink.
var ErrSealed = errors.New("analytics: bucket is sealed")

// CheckSealed returns ErrSealed if a day is sealed. A day is sealed once its first event may have
// expired; its statistics record when that event arrived (see Site.SealedAt). A day without
// statistics is not sealed.
func CheckSealed(ctx context.Context, t *table.Table, site *Site, day string, now time.Time) error {
	cal, err := calendar.LoadZone(site.TimeZone)
	if err != nil {
		return err
	}
	from, to, err := cal.HourRange(day, day)
	if err != nil {
		return err
	}
	since := int64(0)
	for _, in := range []StatsIn{site.StatsIn(Hour, from, to), site.StatsIn(Day, day, calendar.ShiftDay(day, 1))} {
		for s, err := range StatsByTime.All(ctx, t, in) {
			if err != nil {
				return err
			}
			if s.Since != 0 && (since == 0 || s.Since < since) {
				since = s.Since
			}
		}
	}
	if since == 0 {
		return nil
	}
	first := time.Unix(since, 0)
	end := site.SealedAt(first)
	if now.Before(end) {
		return nil
	}
	open, err := site.firstOpen(&cal, now)
	if err != nil {
		return err
	}
	return fmt.Errorf("%w: day %s has been sealed since %s, %d days after its first event arrived; the first day that is not sealed is %s", ErrSealed, day,
		end.UTC().Format(time.DateTime), int(end.Sub(first)/(24*time.Hour)), open)
}

// firstOpen returns the first day that is not sealed even if it had events from its start.
func (s *Site) firstOpen(cal *calendar.Zone, now time.Time) (string, error) {
	open := calendar.ShiftDay(cal.Day(now), 1)
	for {
		day := calendar.ShiftDay(open, -1)
		start, _, err := cal.Bounds(day)
		if err != nil || !now.Before(s.SealedAt(start)) {
			return open, err
		}
		open = day
	}
}
