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

// CheckSealed returns ErrSealed if a day is sealed: Retention.Late has passed since the arrival of its
// first event, which its statistics record. It returns nil for a day without statistics.
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
	late := site.Retention.Late()
	if end := time.Unix(since, 0).Add(late); !now.Before(end) {
		return fmt.Errorf("%w: day %s has been sealed since %s, %d days after its first event arrived; the first day that is not sealed is %s", ErrSealed, day,
			end.UTC().Format(time.DateTime), int(late/(24*time.Hour)), calendar.ShiftDay(cal.Day(now.Add(-late)), 1))
	}
	return nil
}
