package telemetry

import (
	"context"
	"errors"
	"fmt"

	"github.com/onefold/onefold/table"
)

// DeleteFleet marks a fleet as deleted: from now on it and its devices are unknown to everybody, and within seconds to those
// who take readings. Upkeep purges all of it. Errors: table.ErrNotFound.
func DeleteFleet(ctx context.Context, t *table.Table, fleetID string) error {
	err := ask(ctx, t, ToPurgeFleet, fleetID)
	if err == nil {
		_, err = Fleets.Modify(ctx, t, FleetKey{fleetID}, func(f *Fleet) error {
			if !f.DeletedAt.IsZero() {
				return table.ErrNotFound
			}
			f.DeletedAt = nowOf(t)
			return nil
		})
	}
	if err != nil {
		return fmt.Errorf("telemetry: delete fleet %q: %w", shorten(fleetID), err)
	}
	return nil
}

// PurgeFleet deletes the devices of a deleted fleet and all that they have, its profiles with their rules, and the fleet
// itself last. It may be stopped at any time and run again, and has to be: devices are purged a while after they are
// deleted. Errors: table.ErrNotFound when there is none any more.
func PurgeFleet(ctx context.Context, t *table.Table, w Folded, fleetID string) (Purged, error) {
	p := purging{t: t}
	err := p.fleet(ctx, w, fleetID)
	if err != nil {
		err = fmt.Errorf("telemetry: purge fleet %q: %w", shorten(fleetID), err)
	}
	return p.done, err
}

func (p *purging) fleet(ctx context.Context, w Folded, fleetID string) error {
	f, err := FleetByID.Get(ctx, p.t, FleetIn{fleetID})
	switch {
	case err != nil:
		return err
	case f.DeletedAt.IsZero():
		return errNotDeleted
	}
	if p.done.Waiting = p.t.Now().Before(f.DeletedAt.Add(SettingsNotice)); p.done.Waiting {
		return nil
	}
	if err := w.Drain(ctx); err != nil {
		return fmt.Errorf("wait until everything is folded: %w", err)
	}
	for label, err := range DevicesLabelled.All(ctx, p.t, LabelIn{fleetID, ByFleet, Any}) {
		if err == nil {
			err = DeleteDevice(ctx, p.t, label.DeviceID)
		}
		if err != nil && !errors.Is(err, table.ErrNotFound) {
			return err
		}
		p.done.Waiting = true
	}
	_, err = DevicesLabelled.First(ctx, p.t, LabelIn{fleetID, ByFleet, Deleting})
	if p.done.Waiting = p.done.Waiting || err == nil; p.done.Waiting {
		return nil
	}
	if !errors.Is(err, table.ErrNotFound) {
		return err
	}
	if err := p.profiles(ctx, w, fleetID); err != nil {
		return err
	}
	self, err := Fleets.Key(f.FleetKey)
	if err == nil {
		err = p.beside(ctx, w, self)
	}
	if err != nil {
		return err
	}
	p.done.Items++
	return Fleets.Delete(ctx, p.t, f.FleetKey)
}

// profiles deletes a fleet's profiles and what is kept beside them.
func (p *purging) profiles(ctx context.Context, w Folded, fleetID string) error {
	for profile, err := range ProfilesOfFleet.All(ctx, p.t, FleetIn{fleetID}) {
		if err != nil {
			return err
		}
		self, err := Profiles.Key(profile.ProfileKey)
		if err == nil {
			err = p.beside(ctx, w, self)
		}
		if err == nil {
			p.done.Items++
			err = Profiles.Delete(ctx, p.t, profile.ProfileKey)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
