package recount

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry"
)

// compareLatest recomputes the latest values and the last arrival of a device from its readings since
// the first day of the range, and compares them with the stored ones. It does not compare the
// expected interval, which is an estimate.
func (r *recounter) compareLatest(ctx context.Context, id string) error {
	for range maxTries {
		before, err := r.loadStatus(ctx, id)
		if err != nil {
			return err
		}
		want, err := r.computeStatus(ctx, id)
		if errors.Is(err, telemetry.ErrDamaged) { // the latest values may be among the unreadable ones
			r.found.Items++
			r.addSealed(id + " " + string(Latest))
			return nil
		}
		if err != nil {
			return err
		}
		if err := r.w.Drain(ctx); err != nil {
			return err
		}
		after, err := r.loadStatus(ctx, id)
		if err != nil {
			return err
		}
		if before.Version != after.Version {
			continue
		}
		if err := r.repairStatus(ctx, after, want); !errors.Is(err, table.ErrConflict) {
			r.found.Items++
			return err
		}
	}
	r.addBusy(id + " " + string(Latest))
	return nil
}

func (r *recounter) loadStatus(ctx context.Context, id string) (*fold.Stored[telemetry.Status], error) {
	stored, err := fold.Load(ctx, r.t, telemetry.Statuses, []telemetry.StatusKey{{DeviceID: id}})
	if err != nil {
		return nil, err
	}
	return &stored[0], nil
}

// rangeStart returns the start of the range, or the zero time.
func (r *recounter) rangeStart() (time.Time, error) {
	if r.in.From == "" {
		return time.Time{}, nil
	}
	return r.zone.Start(r.in.From)
}

// computeStatus computes the status of a device from its readings. It ignores arrivals in the future,
// which come from a server whose clock was ahead.
func (r *recounter) computeStatus(ctx context.Context, id string) (*telemetry.Status, error) {
	since, err := r.rangeStart()
	if err != nil {
		return nil, err
	}
	future := r.t.Now().Add(telemetry.MinTimeout).UnixMilli()
	s := &telemetry.Status{StatusKey: telemetry.StatusKey{DeviceID: id}}
	for one, err := range (telemetry.ReadingsIn{DeviceID: id}).Back(ctx, r.t) {
		if err != nil {
			return nil, err
		}
		if one.At.Before(since) {
			break
		}
		r.found.Readings++
		one.Past = one.Past || one.Arrived > future
		if !one.Quiet {
			s.Add(&one)
		}
	}
	return s, nil
}

// repairStatus compares a status with the one computed from readings.
func (r *recounter) repairStatus(ctx context.Context, stored *fold.Stored[telemetry.Status], want *telemetry.Status) error {
	is := &stored.State
	fixed := *is
	fixed.FleetID = max(is.FleetID, want.FleetID)
	var err error
	if fixed.Values, err = r.wantedValues(ctx, is, want); err != nil {
		return err
	}
	if fixed.LastSeen, err = r.wantedLastSeen(ctx, is, want); err != nil {
		return err
	}
	if stored.Version == 0 && len(fixed.Values) == 0 {
		return nil // the device has never sent anything
	}
	if is.Connectivity == telemetry.Offline {
		fixed.Silent = min(is.Silent, fixed.LastSeen) // otherwise its next reading would not make it online
	}
	fixed.Arrivals = slices.Clone(is.Arrivals)
	fixed.Arrivals.Merge(want.Arrivals)
	fixed.Arrivals.Until(fixed.LastSeen / 1000)
	fixed.Finish()
	if maps.Equal(is.Values, fixed.Values) && is.LastSeen == fixed.LastSeen && is.Connectivity == fixed.Connectivity {
		return nil
	}
	if r.verb == Rebuilding {
		if err := fold.ReplaceState(ctx, r.t, telemetry.Statuses, is.StatusKey, fixed, stored.Version); err != nil {
			return err
		}
	}
	d := Difference{Part: Latest, Device: is.DeviceID, Kind: kindOf(stored.Version != 0, len(fixed.Values) > 0)}
	d.Stored, d.Want = describeStatuses(is, &fixed)
	r.addDifference(d)
	return nil
}

// wantedValues returns the correct latest values of a device. Stored values stay if they may come from
// readings before the range, or from expired ones.
func (r *recounter) wantedValues(ctx context.Context, is, want *telemetry.Status) (telemetry.Latest, error) {
	since, err := r.rangeStart()
	if err != nil {
		return nil, err
	}
	values := maps.Clone(want.Values)
	if values == nil {
		values = make(telemetry.Latest)
	}
	for name, v := range is.Values {
		w, there := want.Values[name]
		if there && v.Before(w) {
			continue
		}
		at := time.UnixMilli(v.At)
		keep := at.Before(since) || there && !w.Before(v)
		if !keep {
			if keep, err = r.hasExpired(ctx, is.DeviceID, at); err != nil {
				return nil, err
			}
			if keep {
				r.addSealed(is.DeviceID + " " + string(Latest) + " " + name)
			}
		}
		if keep {
			values[name] = v
		}
	}
	return values, nil
}

// wantedLastSeen returns the correct last arrival of a device.
func (r *recounter) wantedLastSeen(ctx context.Context, is, want *telemetry.Status) (int64, error) {
	if is.LastSeen <= want.LastSeen {
		return want.LastSeen, nil
	}
	since, err := r.rangeStart()
	if err != nil {
		return 0, err
	}
	slack, err := r.clockSlack(ctx, is.DeviceID)
	if err != nil {
		return 0, err
	}
	measured := time.UnixMilli(is.LastSeen).Add(-slack) // earliest time of measurement
	if measured.Before(since) {
		return is.LastSeen, nil
	}
	for _, at := range []time.Time{measured, time.UnixMilli(is.LastSeen)} {
		if gone, err := r.hasExpired(ctx, is.DeviceID, at); err != nil || gone {
			r.addSealed(is.DeviceID + " last seen")
			return is.LastSeen, err
		}
	}
	return want.LastSeen, nil
}

// clockSlack returns how much older, by its device's clock, a reading that counts as online may be than
// its arrival.
func (r *recounter) clockSlack(ctx context.Context, id string) (time.Duration, error) {
	const least = 25 * time.Hour
	d, err := telemetry.GetDevice(ctx, r.t, id)
	if err != nil || d.ProfileID == "" {
		return least, err
	}
	p, err := telemetry.ProfileByID.Get(ctx, r.t, telemetry.ProfileIn{ProfileID: d.ProfileID})
	if errors.Is(err, table.ErrNotFound) {
		return least, nil
	}
	return max(least, time.Duration(p.Clock.LateAfter)*time.Second), err
}

// hasExpired reports whether a reading of the given time may have expired: by the hour that counts it,
// or if there is none, by the fleet's retention.
func (r *recounter) hasExpired(ctx context.Context, id string, at time.Time) (bool, error) {
	key := telemetry.AggregateKey{DeviceID: id, Period: telemetry.Hourly, Start: r.zone.Hour(at)}
	hours, err := fold.Load(ctx, r.t, telemetry.Aggregates, []telemetry.AggregateKey{key})
	if err != nil {
		return false, err
	}
	now := r.t.Now()
	if until := hours[0].State.RawUntil; until != 0 {
		return now.Unix() >= until, nil
	}
	return !now.Before(at.Add(r.fleet.Retention.Raw())), nil
}
