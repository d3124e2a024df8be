package telemetry

import (
	"context"
	"fmt"

	"github.com/onefold/onefold/table"
)

// DeleteDevice marks a device as deleted. It disappears at once; collectors reject its readings
// within seconds. Package maintenance purges its data. Errors: table.ErrNotFound.
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

// DeleteFleet marks a fleet as deleted. It and its devices disappear at once; collectors reject
// their readings within seconds. Package maintenance purges the data. Errors: table.ErrNotFound.
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
