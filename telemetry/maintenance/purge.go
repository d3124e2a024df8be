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

// Purged is the result of a purge.
type Purged struct {
	Waiting bool  `json:"waiting,omitempty"` // the device or fleet was deleted a moment ago and may still receive readings: try again later
	Items   int64 `json:"items"`             // deleted items
}

// PurgeDevice deletes all data of a deleted device, and the device itself last. It may be
// interrupted and repeated. It returns an error if the device is not marked as deleted, and
// table.ErrNotFound if it does not exist.
func PurgeDevice(ctx context.Context, t *table.Table, w telemetry.Folded, deviceID string) (Purged, error) {
	p := purging{t: t}
	err := p.run(ctx, w, deviceID)
	if err != nil {
		err = fmt.Errorf("maintenance: purge device %q: %w", deviceID, err)
	}
	return p.done, err
}

var errNotDeleted = errors.New("it is not marked as deleted; delete it first")

type purging struct {
	t    *table.Table
	done Purged
}

func (p *purging) run(ctx context.Context, w telemetry.Folded, deviceID string) error {
	d, err := telemetry.DeviceByID.Get(ctx, p.t, telemetry.DeviceIn{DeviceID: deviceID})
	switch {
	case err != nil:
		return err
	case d.DeletedAt.IsZero():
		return errNotDeleted
	}
	if p.done.Waiting = p.t.Now().Before(d.DeletedAt.Add(telemetry.SettingsNotice)); p.done.Waiting {
		return nil
	}
	self, err := telemetry.Devices.Key(d.DeviceKey)
	if err != nil {
		return err
	}
	// Move the device's readings into its own partition first, so that they are deleted with it.
	if _, err := telemetry.MoveReadingsOf(ctx, p.t, &d); err != nil && !errors.Is(err, telemetry.ErrDamaged) {
		return err
	}
	n, err := readings.Remove(ctx, p.t, d.FleetID, readings.SegmentsIn{DeviceID: deviceID})
	if p.done.Items += n; err != nil {
		return err
	}
	if err := p.restOfPartition(ctx, w, self); err != nil {
		return err
	}
	p.done.Items++
	return telemetry.Devices.Delete(ctx, p.t, d.DeviceKey)
}

// restOfPartition deletes everything in the partition of an item except the item.
func (p *purging) restOfPartition(ctx context.Context, w telemetry.Folded, self table.Item) error {
	n, err := purge.Ranges(ctx, p.t, w.Drain, purge.RestOfPartition(self))
	p.done.Items += n
	return err
}
