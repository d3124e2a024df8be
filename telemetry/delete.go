package telemetry

import (
	"context"
	"fmt"

	"github.com/onefold/onefold/table"
)

// DeleteDevice marks a device as deleted: from now on it is unknown to everybody, and within seconds to those who take its
// readings. Package maintenance purges it. Errors: table.ErrNotFound.
func DeleteDevice(ctx context.Context, t *table.Table, deviceID string) error {
	err := ask(ctx, t, ToPurge, deviceID)
	if err == nil {
		_, err = ModifyDevice(ctx, t, deviceID, func(d *Device) error {
			d.DeletedAt, d.Tokens = nowOf(t), nil
			return nil
		})
	}
	if err != nil {
		return fmt.Errorf("telemetry: delete device %q: %w", shorten(deviceID), err)
	}
	return nil
}

// DeleteFleet marks a fleet as deleted: from now on it and its devices are unknown to everybody, and within seconds to those
// who take readings. Package maintenance purges all of it. Errors: table.ErrNotFound.
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
