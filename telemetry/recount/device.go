package recount

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/onefold/onefold/internal/calendar"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry"
)

// compareDevice compares one device: its days in order, then its latest values.
func (r *recounter) compareDevice(ctx context.Context, id string) error {
	day, err := r.nextDay(ctx, id, cmp.Or(r.in.From, "0001-01-01"))
	for ; err == nil && day != ""; day, err = r.nextDay(ctx, id, calendar.ShiftDay(day, 1)) {
		if err := r.compareDay(ctx, id, day); err != nil {
			return err
		}
		r.at.Day = day
		r.reportProgress()
	}
	if err != nil {
		return err
	}
	return r.compareLatest(ctx, id)
}

// nextDay returns the first day, from the given day on, with readings or aggregates of a device; ""
// if there is none in the range.
func (r *recounter) nextDay(ctx context.Context, id, from string) (next string, err error) {
	start, _, err := r.zone.Bounds(from)
	if err != nil {
		return "", err
	}
	hour, _, err := r.zone.HourRange(from, from)
	if err != nil {
		return "", err
	}
	take := func(day string, err error) error {
		if errors.Is(err, table.ErrNotFound) {
			return nil
		}
		if err == nil && (next == "" || day < next) {
			next = day
		}
		return err
	}
	if start.Before(time.UnixMilli(0)) {
		start = time.UnixMilli(0)
	}
	one, err := (telemetry.ReadingsIn{DeviceID: id, From: start, Partial: true}).First(ctx, r.t)
	if err := take(r.zone.Day(one.At), err); err != nil {
		return "", err
	}
	for period, begin := range map[telemetry.Period]string{telemetry.Hourly: hour, telemetry.TenMinutes: hour, telemetry.Daily: from} {
		a, err := telemetry.AggregatesByTime.First(ctx, r.t, telemetry.AggregatesIn{DeviceID: id, Period: period, From: begin})
		if err := take(r.dayOf(&a.AggregateKey), err); err != nil {
			return "", err
		}
	}
	if r.in.To != "" && next > r.in.To {
		return "", nil
	}
	return next, nil
}

// dayOf returns the day of a bucket.
func (r *recounter) dayOf(k *telemetry.AggregateKey) string {
	at, err := time.Parse(calendar.HourLayout, k.Start)
	if err != nil { // the bucket is a day
		return k.Start
	}
	return r.zone.Day(at)
}

// compareDay compares a device's hourly and ten-minute aggregates with its readings, then the day with its
// hours.
func (r *recounter) compareDay(ctx context.Context, id, day string) error {
	wrong, err := r.compareBuckets(ctx, id, day)
	if err != nil || wrong && r.verb == Verifying { // the day can be compared only once its hours are right
		return err
	}
	return r.compareRolledDay(ctx, id, day)
}

// compareBuckets compares hourly and ten-minute aggregates. wrong reports differences.
func (r *recounter) compareBuckets(ctx context.Context, id, day string) (wrong bool, err error) {
	start, end, err := r.zone.Bounds(day)
	if err != nil {
		return false, err
	}
	compare := telemetry.Verify
	if r.verb == Rebuilding {
		compare = telemetry.Rebuild
	}
	found, err := compare(ctx, r.t, r.w, id, start, end)
	if err != nil && !errors.Is(err, telemetry.ErrSealed) {
		return false, err
	}
	r.found.Readings += found.Readings
	r.found.Items += int64(found.Items)
	if found.Busy > 0 {
		r.addBusy(id + " " + day)
	}
	if found.Count > 0 && r.verb == Verifying {
		if waits, err := r.retracting(ctx, id, start, end); err != nil || waits {
			r.found.Waiting++
			return true, err
		}
	}
	r.addSealedOf(id, &found)
	for i := range found.List { // the list covers the whole day
		r.addDifference(describe(&found.List[i]))
	}
	return found.Count > 0, nil
}

// retracting reports whether a retraction for a time range is being applied or lifted.
func (r *recounter) retracting(ctx context.Context, id string, start, end time.Time) (bool, error) {
	for x, err := range telemetry.RetractionsOfDevice.All(ctx, r.t, telemetry.DeviceIn{DeviceID: id}) {
		if err != nil {
			return false, err
		}
		if (x.AppliedAt.IsZero() || !x.LiftedAt.IsZero()) && x.From.Before(end) && x.To.After(start) {
			return true, nil
		}
	}
	return false, nil
}

func (r *recounter) addSealedOf(id string, found *telemetry.Differences) {
	for _, name := range found.Sealed {
		r.addSealed(id + " " + name)
	}
	r.found.SealedItems += int64(found.SealedItems - len(found.Sealed))
}

// compareRolledDay compares a completed day with its hours, unless it waits for a roll-up. Rebuild
// recomputes it in any case.
func (r *recounter) compareRolledDay(ctx context.Context, id, day string) error {
	for range maxTries {
		is, err := telemetry.CompareDay(ctx, r.t, &r.fleet, r.zone, id, day)
		if err != nil {
			return err
		}
		switch {
		case is.Sealed:
			r.found.Items++
			r.addSealed(id + " " + string(telemetry.Daily) + " " + day)
			return nil
		case !is.Differs() && (r.verb == Verifying || !is.Waits):
			r.found.Items++
			return nil
		}
		settled, err := r.repairDay(ctx, id, day, is)
		if settled || err != nil {
			r.found.Items++
			return err
		}
	}
	r.addBusy(id + " " + day)
	return nil
}

// repairDay reports or repairs a day that is not the sum of its hours. It returns false while hours
// are being written.
func (r *recounter) repairDay(ctx context.Context, id, day string, is telemetry.DayState) (settled bool, err error) {
	if err := r.w.Drain(ctx); err != nil { // the hours may have changed just now, with the mark not yet folded
		return false, err
	}
	now, err := telemetry.CompareDay(ctx, r.t, &r.fleet, r.zone, id, day)
	if err != nil || now.Waits != is.Waits || now.Differs() != is.Differs() {
		return false, err
	}
	if r.verb == Rebuilding && r.dayEnded(day) {
		if err := telemetry.RollUpDay(ctx, r.t, &r.fleet, r.zone, id, day); errors.Is(err, table.ErrConflict) {
			return false, nil
		} else if err != nil {
			return false, err
		}
	}
	if now.Differs() {
		r.addDifference(describe(&now.Difference))
	}
	return true, nil
}

// dayEnded reports whether a day has ended.
func (r *recounter) dayEnded(day string) bool { return day < r.zone.Day(r.t.Now()) }
