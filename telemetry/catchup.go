package telemetry

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/internal/calendar"
	"github.com/onefold/onefold/table"
)

// CaughtUp is what CatchUp did.
type CaughtUp struct {
	Readings    int      // that were stored since
	Days        int      // that they are of, in the fleet's zone
	Differences int      // aggregates that were not what their readings say
	Sealed      []string // aggregates that cannot be made again, the first hundred of each day
}

// CatchUp makes again what readings touch that a device has stored since a time, for the folds have missed some of them: hourly and
// ten-minute aggregates of their days, and the device's status, but for the rhythm in which it sends, which is learned anew. Alerts
// are not made: see alerts.Rebuild. It may be repeated. Errors: table.ErrNotFound.
func CatchUp(ctx context.Context, t *table.Table, w Folded, deviceID string, since time.Time) (c CaughtUp, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("telemetry: catch up device %q: %w", shorten(deviceID), err)
		}
	}()
	d, err := GetDevice(ctx, t, deviceID)
	if err != nil {
		return c, err
	}
	fleet, err := GetFleet(ctx, t, d.FleetID)
	if err != nil {
		return c, err
	}
	zone, err := calendar.LoadZone(fleet.TimeZone)
	if err != nil {
		return c, err
	}
	days := make(map[string]time.Time)
	status := Status{StatusKey: StatusKey{deviceID}}
	for r, err := range NewestReadings.All(ctx, t, DeviceIn{deviceID}) {
		if err != nil {
			return c, err
		}
		if r.Arrived < since.UnixMilli() {
			continue
		}
		c.Readings++
		days[zone.Day(r.At)] = r.At
		if !r.Quiet {
			status.add(&r)
		}
	}
	c.Days = len(days)
	for _, day := range slices.Sorted(maps.Keys(days)) {
		found, err := Rebuild(ctx, t, w, deviceID, days[day], days[day].Add(time.Millisecond))
		c.Differences += found.Count
		c.Sealed = append(c.Sealed, found.Sealed...)
		if err != nil && !errors.Is(err, ErrSealed) {
			return c, err
		}
	}
	if status.LastSeen == 0 {
		return c, nil
	}
	return c, mergeStatus(ctx, t, &status)
}

// mergeStatus adds to a device's status what readings say. Which of them it has counted does not matter: the latest stays the
// latest. Only the rhythm would count twice, and is left as it is.
func mergeStatus(ctx context.Context, t *table.Table, add *Status) error {
	for range maxTries {
		stored, err := fold.Load(ctx, t, Statuses, []StatusKey{add.StatusKey})
		if err != nil {
			return err
		}
		s := stored[0].State
		rhythm := s.Arrivals
		more := *add
		more.Values = maps.Clone(add.Values)
		s.merge(&more)
		if stored[0].Version != 0 {
			s.Arrivals = rhythm
		}
		s.finish()
		if err = fold.ReplaceState(ctx, t, Statuses, add.StatusKey, s, stored[0].Version); !errors.Is(err, table.ErrConflict) {
			return err
		}
	}
	return fmt.Errorf("%w: its status was written again and again", table.ErrConflict)
}
