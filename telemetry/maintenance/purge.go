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

// Purged says what a purge did.
type Purged struct {
	Waiting bool  `json:"waiting,omitempty"` // the device was deleted a moment ago, and readings may still come: try again later
	Items   int64 `json:"items"`             // that were deleted
}

// PurgeDevice deletes everything that a deleted device has, the device itself last. It may be stopped at any time and run
// again. A device that is not marked as deleted is refused. Errors: table.ErrNotFound when there is none any more.
func PurgeDevice(ctx context.Context, t *table.Table, w telemetry.Folded, deviceID string) (Purged, error) {
	p := purging{t: t}
	err := p.run(ctx, w, deviceID)
	if err != nil {
		err = fmt.Errorf("maintenance: purge device %q: %w", deviceID, err)
	}
	return p.done, err
}

var errNotDeleted = errors.New("it is not deleted; that comes first")

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
	// What came of it goes the way of all readings first, so that it is in its own partition.
	if _, err := telemetry.MoveReadingsOf(ctx, p.t, &d); err != nil && !errors.Is(err, telemetry.ErrDamaged) {
		return err
	}
	n, err := readings.Remove(ctx, p.t, d.FleetID, readings.SegmentsIn{DeviceID: deviceID})
	if p.done.Items += n; err != nil {
		return err
	}
	if err := p.beside(ctx, w, self); err != nil {
		return err
	}
	p.done.Items++
	return telemetry.Devices.Delete(ctx, p.t, d.DeviceKey)
}

// beside deletes what is in the partition of an item, but the item.
func (p *purging) beside(ctx context.Context, w telemetry.Folded, self table.Item) error {
	n, err := purge.Ranges(ctx, p.t, w.Drain, purge.Beside(self))
	p.done.Items += n
	return err
}
