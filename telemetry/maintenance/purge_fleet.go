package maintenance

import (
	"context"
	"errors"
	"fmt"

	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/table/purge"
	"github.com/onefold/onefold/telemetry"
	"github.com/onefold/onefold/telemetry/readings"
)

// PurgeFleet deletes the devices of a deleted fleet with all their data, its profiles and their
// rules, and the fleet itself last. It may be interrupted, and must be repeated while Waiting is
// set, because devices are purged some time after their deletion. Errors: table.ErrNotFound if the
// fleet does not exist.
func PurgeFleet(ctx context.Context, t *table.Table, w telemetry.Folded, fleetID string) (Purged, error) {
	p := purging{t: t}
	err := p.fleet(ctx, w, fleetID)
	if err != nil {
		err = fmt.Errorf("maintenance: purge fleet %q: %w", fleetID, err)
	}
	return p.done, err
}

func (p *purging) fleet(ctx context.Context, w telemetry.Folded, fleetID string) error {
	f, err := telemetry.FleetByID.Get(ctx, p.t, telemetry.FleetIn{FleetID: fleetID})
	switch {
	case err != nil:
		return err
	case f.DeletedAt.IsZero():
		return errNotDeleted
	}
	if p.done.Waiting = p.t.Now().Before(f.DeletedAt.Add(telemetry.SettingsNotice)); p.done.Waiting {
		return nil
	}
	if err := w.Drain(ctx); err != nil {
		return fmt.Errorf("wait for folds: %w", err)
	}
	for label, err := range telemetry.DevicesLabelled.All(ctx, p.t, telemetry.LabelIn{FleetID: fleetID, Kind: telemetry.ByFleet, Value: telemetry.Any}) {
		if err == nil {
			err = telemetry.DeleteDevice(ctx, p.t, label.DeviceID)
		}
		if err != nil && !errors.Is(err, table.ErrNotFound) {
			return err
		}
		p.done.Waiting = true
	}
	_, err = telemetry.DevicesLabelled.First(ctx, p.t, telemetry.LabelIn{FleetID: fleetID, Kind: telemetry.ByFleet, Value: telemetry.Deleting})
	if p.done.Waiting = p.done.Waiting || err == nil; p.done.Waiting {
		return nil
	}
	if !errors.Is(err, table.ErrNotFound) {
		return err
	}
	if err := p.profiles(ctx, w, fleetID); err != nil {
		return err
	}
	if err := p.readings(ctx, w, fleetID); err != nil {
		return err
	}
	return p.last(ctx, w, f.FleetKey)
}

// last deletes the remaining items of a fleet, and then the fleet.
func (p *purging) last(ctx context.Context, w telemetry.Folded, k telemetry.FleetKey) error {
	self, err := telemetry.Fleets.Key(k)
	if err == nil {
		err = p.restOfPartition(ctx, w, self)
	}
	if err != nil {
		return err
	}
	p.done.Items++
	return telemetry.Fleets.Delete(ctx, p.t, k)
}

// profiles deletes a fleet's profiles and everything in their partitions.
func (p *purging) profiles(ctx context.Context, w telemetry.Folded, fleetID string) error {
	for profile, err := range telemetry.ProfilesOfFleet.All(ctx, p.t, telemetry.FleetIn{FleetID: fleetID}) {
		if err != nil {
			return err
		}
		self, err := telemetry.Profiles.Key(profile.ProfileKey)
		if err == nil {
			err = p.restOfPartition(ctx, w, self)
		}
		if err == nil {
			p.done.Items++
			err = telemetry.Profiles.Delete(ctx, p.t, profile.ProfileKey)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// readings deletes what remains in the partitions in which readings arrive: damaged blocks, and the
// windows of known readings.
func (p *purging) readings(ctx context.Context, w telemetry.Folded, fleetID string) error {
	ranges, err := readings.Partitions(fleetID)
	if err != nil {
		return err
	}
	n, err := purge.Ranges(ctx, p.t, w.Drain, ranges...)
	if p.done.Items += n; err != nil {
		return err
	}
	return readings.Forget(ctx, p.t, fleetID)
}
