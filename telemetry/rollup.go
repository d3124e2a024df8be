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
	rollUpAfter = 5 * time.Minute // delay of a roll-up after the day's end
	maxRolls    = 6               // attempts while hours are being written
	firstZone   = 14 * time.Hour  // offset of the first time zone from UTC
)

// RolledUp is the result of a roll-up.
type RolledUp struct {
	Days    int // days processed
	Changed int // days that changed
}

// RollUp computes the daily aggregates of completed days whose hours changed since their last
// roll-up. It may be interrupted, repeated, and run concurrently.
func RollUp(ctx context.Context, t *table.Table) (RolledUp, error) {
	r := roller{t: t, fleets: map[string]*rollFleet{}}
	today := t.Now().UTC().Add(firstZone).Format(calendar.DayLayout) // this day is not over anywhere
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

type rollFleet struct {
	fleet Fleet
	zone  calendar.Zone
}

// fleet reads and caches a fleet. A fleet that was deleted gets default settings.
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

// marked rolls up a marked day if it is over. A mark that was set again meanwhile stays.
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

// day rolls up a day, and retries while its hours are being written.
func (r *roller) day(ctx context.Context, f *rollFleet, deviceID, day string) (changed bool, err error) {
	for range maxRolls {
		if changed, err = r.dayOnce(ctx, f, AggregateKey{deviceID, Daily, day}); !errors.Is(err, table.ErrConflict) {
			break
		}
	}
	return changed, err
}

// DayState is a daily aggregate compared with its hours.
type DayState struct {
	Difference
	Waits  bool // for a roll-up, or for the end of the day
	Sealed bool // some of its hours may have expired, so it is final
}

// Differs reports whether the day does not match its hours. Hours without readings count as none.
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

// RollUpDay rolls up a day of a device now. fleet and zone are those of the device.
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

// final reports whether a day must not be recomputed: some of its hours may have expired.
func final(t *table.Table, f *Fleet, stored, sum *Aggregate) bool {
	return sum.Readings < stored.Readings && !t.Now().Before(stored.startOf().Add(f.Retention.Of(Hourly)))
}

// sameAggregate reports whether two aggregates have equal counts.
func sameAggregate(a, b *Aggregate) bool {
	return a.Readings == b.Readings && a.Late == b.Late && a.Corrections == b.Corrections && a.Latest == b.Latest && a.RawUntil == b.RawUntil &&
		bytes.Equal(a.Metrics.Append(nil), b.Metrics.Append(nil))
}

// dayOfHours computes the daily aggregate of a device. Where order matters and an hour could not
// keep all points, it reads the readings; with settle it stores the result before they expire.
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

// settleHour derives from the readings, if still kept, what the hour's tracks do not know. With
// store the result is written.
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

// readingsOfBucket reads the readings of an hour or ten minutes, with current retractions.
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

// pointsOf returns the counted values of a metric, unordered.
func pointsOf(readings []Reading, m *bucket.Metric) (points []counterseries.Point) {
	for i := range readings {
		r := &readings[i]
		v, there := r.Values[m.Name]
		named := !v.IsNumber() || slices.Contains(r.States, m.Name)
		switch {
		case !there || slices.Contains(r.Void, m.Name) || named != (m.Kind == bucket.State):
		case named:
			points = append(points, counterseries.Point{Position: r.Place(), Name: v.String(), Form: formOf(v)})
		case slices.Contains(r.Counters, m.Name) == (m.Kind == bucket.Counter):
			d, err := decimalsum.Parse(v.String())
			if err == nil {
				points = append(points, counterseries.Point{Position: r.Place(), Number: d}.Counted())
			}
		}
	}
	return points
}
