package analytics

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/onefold/onefold/internal/calendar"
	"github.com/onefold/onefold/table"
)

// ErrSealed is returned for a bucket whose sources may have expired: recomputed, it would shrink.
var ErrSealed = errors.New("analytics: bucket is sealed")

// CheckRaw returns ErrSealed if any raw event of a day may have expired by now. The retention of a
// raw event begins when it arrives, so CheckRaw compares the earliest arrival that the day's
// statistics record. It returns nil for a day without statistics.
func CheckRaw(ctx context.Context, t *table.Table, site *Site, day string, now time.Time) error {
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
	keep := site.Retention.Raw()
	if gone := time.Unix(since, 0).Add(keep); !now.Before(gone) {
		return fmt.Errorf("%w: day %s: its raw events began to expire on %s; the first day with all raw events is %s", ErrSealed, day,
			gone.UTC().Format(time.DateTime), calendar.ShiftDay(cal.Day(now.Add(-keep)), 1))
	}
	return nil
}
