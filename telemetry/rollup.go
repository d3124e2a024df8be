package telemetry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/internal/calendar"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry/internal/bucket"
	"github.com/onefold/onefold/telemetry/internal/counterseries"
	"github.com/onefold/onefold/telemetry/internal/decimalsum"
)

const (
	rollUpAfter = 5 * time.Minute // after a day's end it is made of its hours
	maxRolls    = 6               // attempts, while its hours are being written
	firstZone   = 14 * time.Hour  // how far the first time zone is ahead of UTC
)

// RolledUp says what a roll-up did.
type RolledUp struct {
	Days    int // that were made of their hours
	Changed int // of these, those that were not so already
}

// RollUp makes the daily aggregates that wait for it of their hours: of days that are over, and of those of which an hour
// has changed since. It may be stopped at any time and run again, and run by several.
func RollUp(ctx context.Context, t *table.Table) (RolledUp, error) {
	r := roller{t: t, fleets: map[string]*rollFleet{}}
	today := t.Now().UTC().Add(firstZone).Format(calendar.DayLayout) // the latest that is over nowhere
	for shard := range Shards {
		for mark, err := range DaysToRollUp.All(ctx, t, ShardIn{shard, today}) {
			if err == nil {
				err = r.marked(ctx, mark)
			}
			if err != nil {
				return r.did, fmt.Errorf("telemetry: roll up: %w", err)
			}
		}
	}
	return r.did, nil
}

type roller struct {
	t      *table.Table
	fleets map[string]*rollFleet
	did    RolledUp
}

// rollFleet is what a roll-up knows of a fleet.
type rollFleet struct {
	fleet Fleet
	zone  calendar.Zone
}

// fleet reads a fleet once; one that is gone has the zone and retention of none.
func (r *roller) fleet(ctx context.Context, fleetID string) (*rollFleet, error) {
	if f := r.fleets[fleetID]; f != nil {
		return f, nil
	}
	f := &rollFleet{fleet: Fleet{TimeZone: "UTC"}}
	fleet, err := GetFleet(ctx, r.t, fleetID)
	switch {
	case err == nil:
		f.fleet = fleet
	case !errors.Is(err, table.ErrNotFound):
		return nil, err
	}
	if f.zone, err = calendar.LoadZone(f.fleet.TimeZone); err != nil {
		return nil, err
	}
	r.fleets[fleetID] = f
	return f, nil
}

// marked makes a day that is marked, if it is over. The mark goes unless it was set again meanwhile.
func (r *roller) marked(ctx context.Context, mark RollupMark) error {
	f, err := r.fleet(ctx, mark.FleetID)
	if err != nil {
		return err
	}
	if _, end, err := f.zone.Bounds(mark.Day); err != nil || r.t.Now().Before(end.Add(rollUpAfter)) {
		return err
	}
	before, err := fold.Load(ctx, r.t, RollupMarks, []RollupKey{mark.RollupKey})
	if err != nil {
		return err
	}
	changed, err := r.day(ctx, f, mark.DeviceID, mark.Day)
	if err != nil {
		return fmt.Errorf("%s of device %s: %w", mark.Day, mark.DeviceID, err)
	}
	r.did.Days++
	if changed {
		r.did.Changed++
	}
	err = fold.RemoveState(ctx, r.t, RollupMarks, mark.RollupKey, before[0].Version)
	if errors.Is(err, table.ErrConflict) {
		return nil // it waits for the next roll-up
	}
	return err
}

// day makes a day of its hours.
func (r *roller) day(ctx context.Context, f *rollFleet, deviceID, day string) (changed bool, err error) {
	for range maxRolls {
		if changed, err = r.dayOnce(ctx, f, AggregateKey{deviceID, Daily, day}); !errors.Is(err, table.ErrConflict) {
			break
		}
	}
	return changed, err
}

// DayState is a day of a device beside its hours.
type DayState struct {
	Difference
	Waits  bool // for a roll-up, or to be over
	Sealed bool // some of its hours may have expired, so it stays as it is
}

// Differs reports whether the day is not what its hours make. Hours that count nothing any more make none.
func (s *DayState) Differs() bool {
	return !s.Waits && !s.Sealed && s.Stored.Readings+s.Want.Readings != 0 && !sameAggregate(&s.Stored, &s.Want)
}

// CompareDay compares a day of a device with its hours. fleet and zone are those of the device.
func CompareDay(ctx context.Context, t *table.Table, fleet *Fleet, zone calendar.Zone, deviceID, day string) (s DayState, err error) {
	_, end, err := zone.Bounds(day)
	if err != nil {
		return s, err
	}
	marks, err := fold.Load(ctx, t, RollupMarks, []RollupKey{{table.Shard(deviceID, Shards), day, deviceID}})
	if err != nil {
		return s, fmt.Errorf("telemetry: mark of %s: %w", day, err)
	}
	days, err := fold.Load(ctx, t, Aggregates, []AggregateKey{{deviceID, Daily, day}})
	if err == nil {
		s.Want, err = dayOfHours(ctx, t, zone, deviceID, day, false)
	}
	if err != nil {
		return s, fmt.Errorf("telemetry: %s of device %q: %w", day, shorten(deviceID), err)
	}
	s.Stored = days[0].State
	s.Waits = marks[0].Version != 0 && !marks[0].Removed || t.Now().Before(end.Add(rollUpAfter))
	s.Sealed = final(t, fleet, &s.Stored, &s.Want)
	return s, nil
}

// RollUpDay makes a day of a device of its hours, now. fleet and zone are those of the device.
func RollUpDay(ctx context.Context, t *table.Table, fleet *Fleet, zone calendar.Zone, deviceID, day string) error {
	r := roller{t: t}
	if _, err := r.day(ctx, &rollFleet{*fleet, zone}, deviceID, day); err != nil {
		return fmt.Errorf("telemetry: roll up %s of device %q: %w", day, shorten(deviceID), err)
	}
	return nil
}

func (r *roller) dayOnce(ctx context.Context, f *rollFleet, key AggregateKey) (changed bool, err error) {
	loaded, err := fold.Load(ctx, r.t, Aggregates, []AggregateKey{key})
	if err != nil {
		return false, err
	}
	stored := &loaded[0].State
	sum, err := dayOfHours(ctx, r.t, f.zone, key.DeviceID, key.Start, true)
	if err != nil {
		return false, err
	}
	if sameAggregate(stored, &sum) || final(r.t, &f.fleet, stored, &sum) {
		return false, nil
	}
	if sum.Readings == 0 {
		return true, fold.RemoveState(ctx, r.t, Aggregates, key, loaded[0].Version)
	}
	sum.ExpiresAt = expiryOf(&sum, f.fleet.Retention)
	return true, fold.ReplaceState(ctx, r.t, Aggregates, key, sum, loaded[0].Version)
}

// final reports whether a day must not be made again: some of its hours may have expired, and it would shrink.
func final(t *table.Table, f *Fleet, stored, sum *Aggregate) bool {
	return sum.Readings < stored.Readings && !t.Now().Before(stored.startOf().Add(f.Retention.Of(Hourly)))
}

// sameAggregate compares what two aggregates count.
func sameAggregate(a, b *Aggregate) bool {
	return a.Readings == b.Readings && a.Late == b.Late && a.Corrections == b.Corrections && a.Latest == b.Latest && a.RawUntil == b.RawUntil &&
		bytes.Equal(a.Metrics.Append(nil), b.Metrics.Append(nil))
}

// dayOfHours makes the daily aggregate of a device's day. Where the order of readings matters and an hour had too many to
// keep, they are read again; with settle what they say is written down, before they expire.
func dayOfHours(ctx context.Context, t *table.Table, zone calendar.Zone, deviceID, day string, settle bool) (Aggregate, error) {
	sum := Aggregate{AggregateKey: AggregateKey{deviceID, Daily, day}}
	from, to, err := zone.HourRange(day, day)
	if err != nil {
		return sum, err
	}
	for hour, err := range AggregatesByTime.All(ctx, t, AggregatesIn{deviceID, Hourly, from, to}) {
		if err == nil {
			err = settleHour(ctx, t, &hour, settle)
		}
		if err != nil {
			return sum, err
		}
		sum.addFigures(&hour)
		for i := range hour.Metrics {
			sum.addHour(&hour.Metrics[i])
		}
	}
	sum.Metrics.Fit()
	return sum, nil
}

// addHour adds a metric of the next hour.
func (a *Aggregate) addHour(hour *bucket.Metric) {
	m := a.Metrics.At(hour.Name, hour.Kind)
	m.Parts(hour)
	if hour.Kind == bucket.Gauge {
		return
	}
	run, known := hour.Whole()
	if !known || m.Track.Over() {
		m.Track.GiveUp()
		m.Run, m.Known = nil, 0
		return
	}
	if m.Run != nil {
		run = m.Run.Then(run)
	}
	m.Settle(run)
}

// settleHour derives from the readings what its tracks do not know, if these are still there; with store it is written
// down.
func settleHour(ctx context.Context, t *table.Table, a *Aggregate, store bool) error {
	unknown := func(m bucket.Metric) bool {
		_, known := m.Whole()
		return !known
	}
	if !slices.ContainsFunc(a.Metrics, unknown) || t.Now().Unix() >= a.RawUntil {
		return nil
	}
	loaded, err := fold.Load(ctx, t, Aggregates, []AggregateKey{a.AggregateKey})
	if err != nil {
		return err
	}
	*a = loaded[0].State
	readings, err := readingsOfBucket(ctx, t, a.AggregateKey)
	if err != nil {
		return err
	}
	for i := range a.Metrics {
		if m := &a.Metrics[i]; unknown(*m) {
			if points := pointsOf(readings, m); int64(len(points)) == m.Count {
				m.Settle(counterseries.RunOfAny(points))
			}
		}
	}
	a.Metrics.Fit()
	if !store {
		return nil
	}
	return fold.ReplaceState(ctx, t, Aggregates, a.AggregateKey, *a, loaded[0].Version)
}

// readingsOfBucket reads the readings that an hour, or ten minutes, count, with what is retracted now.
func readingsOfBucket(ctx context.Context, t *table.Table, k AggregateKey) ([]Reading, error) {
	retractions, err := RetractionsOfDevice.Collect(ctx, t, DeviceIn{k.DeviceID})
	if err != nil {
		return nil, err
	}
	var names calendar.HourNames
	var all []Reading
	start := k.startOf()
	for r, err := range (ReadingsIn{DeviceID: k.DeviceID, From: start, To: start.Add(k.Period.width()), Partial: true}).All(ctx, t) {
		if err != nil {
			return nil, err
		}
		r.Void = voidOf(retractions, &r)
		addToAggregates(&r, &names, func(of AggregateKey) *Aggregate {
			if of == k {
				all = append(all, r)
			}
			return new(Aggregate)
		})
	}
	return all, nil
}

// pointsOf are the values of a metric that readings count, in no order.
func pointsOf(readings []Reading, m *bucket.Metric) (points []counterseries.Point) {
	for i := range readings {
		r := &readings[i]
		v, there := r.Values[m.Name]
		named := !v.IsNumber() || slices.Contains(r.States, m.Name)
		switch {
		case !there || slices.Contains(r.Void, m.Name) || named != (m.Kind == bucket.State):
		case named:
			points = append(points, counterseries.Point{Place: r.Place(), Name: v.String(), Form: formOf(v)})
		case slices.Contains(r.Counters, m.Name) == (m.Kind == bucket.Counter):
			d, err := decimalsum.Parse(v.String())
			if err == nil {
				points = append(points, counterseries.Point{Place: r.Place(), Number: d}.Counted())
			}
		}
	}
	return points
}
