package gaprepair

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/internal/calendar"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry"
	"github.com/onefold/onefold/telemetry/alerts"
	"github.com/onefold/onefold/telemetry/recount"
	"github.com/onefold/onefold/telemetry/reindex"
)

// devicesAtOnce is the number of devices processed in parallel, so that they share the wait until
// everything is folded.
const devicesAtOnce = 256

// fleets recounts the labels and counts of devices.
func (r *rebuild) fleets(ctx context.Context) error {
	done, err := reindex.Recount(ctx, r.Table, r.drain)
	r.result.labels, r.result.counts, r.result.busy = done.Labels, done.Counts, append(r.result.busy, done.Busy...)
	return err
}

// devices repairs the aggregates and alerts of all devices. It keeps the IDs of all devices in
// memory.
func (r *rebuild) devices(ctx context.Context) error {
	var names []string
	for d, err := range telemetry.EachDevice(ctx, r.Table) {
		if err != nil {
			return err
		}
		if d.DeletedAt.IsZero() {
			names = append(names, d.DeviceID)
		}
	}
	slices.Sort(names)
	return r.inBatches(ctx, "devices", slices.Compact(names), devicesAtOnce, func(ctx context.Context, id string) error {
		err := r.device(ctx, id)
		if errors.Is(err, table.ErrNotFound) {
			return nil // deleted meanwhile
		}
		if err != nil {
			return fmt.Errorf("device %s: %w", id, err)
		}
		return nil
	})
}

// device recomputes the aggregates of a device for the days of readings stored since the gap began,
// then its status and its alerts.
func (r *rebuild) device(ctx context.Context, id string) error {
	device, err := telemetry.GetDevice(ctx, r.Table, id)
	if err != nil {
		return err
	}
	days, err := r.status(ctx, &device)
	if err != nil || len(days) == 0 {
		return err
	}
	for _, day := range slices.Sorted(maps.Keys(days)) {
		made, err := telemetry.Rebuild(ctx, r.Table, r.drain, id, days[day], days[day].Add(time.Millisecond))
		if err != nil && !errors.Is(err, telemetry.ErrSealed) {
			return err
		}
		r.note(func(d *result) {
			d.aggregates += made.Count
			for _, sealed := range made.Sealed {
				d.sealed = append(d.sealed, id+" "+sealed)
			}
			if made.Busy > 0 {
				d.busy = append(d.busy, id+" "+day)
			}
		})
		if err := recount.MarkDay(ctx, r.Table, device.FleetID, id, day); err != nil {
			return err
		}
	}
	made, err := alerts.RebuildDevice(ctx, r.Table, r.drain, device.FleetID, id)
	r.note(func(d *result) {
		d.devices++
		d.alerts += made.Alerts
	})
	return err
}

// status updates the status of a device. It returns the days of the readings read, each with the
// time of one of them.
func (r *rebuild) status(ctx context.Context, device *telemetry.Device) (map[string]time.Time, error) {
	fleet, err := telemetry.GetFleet(ctx, r.Table, device.FleetID)
	if err != nil {
		return nil, err
	}
	zone, err := calendar.LoadZone(fleet.TimeZone)
	if err != nil {
		return nil, err
	}
	since := r.since.Add(-lateFolds).UnixMilli()
	days := make(map[string]time.Time)
	err = recount.CatchUp(ctx, r.Table, device.DeviceID, func(yield func(telemetry.Reading, error) bool) {
		for one, err := range (telemetry.ReadingsIn{DeviceID: device.DeviceID, Partial: true}).Back(ctx, r.Table) {
			if err == nil && one.Arrived < since {
				continue
			}
			if err == nil {
				days[zone.Day(one.At)] = one.At
			}
			if !yield(one, err) {
				return
			}
		}
	})
	return days, err
}

// rules closes alerts of rules that no longer apply.
func (r *rebuild) rules(ctx context.Context) error {
	for fleet, err := range telemetry.ListFleets(ctx, r.Table, "") {
		if err != nil {
			return err
		}
		ended, err := alerts.EndGone(ctx, r.Table, fleet.FleetID)
		if err != nil {
			return err
		}
		r.result.alerts += ended
	}
	return nil
}

// events recounts aggregates, and adds missing entries to the index by event type and to the feed.
func (r *rebuild) events(ctx context.Context) error {
	store, err := eventstore.New(r.Table, eventstore.Options{})
	if err != nil {
		return err
	}
	counted, err := store.RecountTypes(ctx, r.drain)
	if err == nil {
		r.result.types, r.result.busy = counted.Wrong, append(r.result.busy, counted.Busy...)
		r.result.indexed, err = store.RepairIndex(ctx, counted.Types...)
	}
	if err == nil {
		err = store.CheckMode(ctx)
	}
	if errors.Is(err, eventstore.ErrWriteMode) { // in put mode there is no feed
		return nil
	}
	if err != nil {
		return err
	}
	repaired, err := store.RepairFeed(ctx, r.drain, counted.Types...)
	r.result.feed = repaired.Commits
	return err
}
