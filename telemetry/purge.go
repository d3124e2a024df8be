package telemetry

import (
	"context"
	"errors"
	"fmt"

	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/table/purge"
)

// DeleteDevice marks a device as deleted: from now on it is unknown to everybody, and within seconds to those who take its
// readings. Upkeep purges it. Errors: table.ErrNotFound.
func DeleteDevice(ctx context.Context, t *table.Table, deviceID string) error {
	err := ask(ctx, t, ToPurge, deviceID)
	if err == nil {
		_, err = modifyDevice(ctx, t, deviceID, func(d *Device) error {
			d.DeletedAt, d.Tokens = nowOf(t), nil
			return nil
		})
	}
	if err != nil {
		return fmt.Errorf("telemetry: delete device %q: %w", shorten(deviceID), err)
	}
	return nil
}

// Purged says what a purge did.
type Purged struct {
	Waiting bool  `json:"waiting,omitempty"` // the device was deleted a moment ago, and readings may still come: try again later
	Items   int64 `json:"items"`             // that were deleted
}

// PurgeDevice deletes everything that a deleted device has, the device itself last. It may be stopped at any time and run
// again. A device that is not marked as deleted is refused. Errors: table.ErrNotFound when there is none any more.
func PurgeDevice(ctx context.Context, t *table.Table, w Folded, deviceID string) (Purged, error) {
	p := purging{t: t}
	err := p.run(ctx, w, deviceID)
	if err != nil {
		err = fmt.Errorf("telemetry: purge device %q: %w", shorten(deviceID), err)
	}
	return p.done, err
}

var errNotDeleted = errors.New("it is not deleted; that comes first")

type purging struct {
	t    *table.Table
	done Purged
}

func (p *purging) run(ctx context.Context, w Folded, deviceID string) error {
	d, err := DeviceByID.Get(ctx, p.t, DeviceIn{deviceID})
	switch {
	case err != nil:
		return err
	case d.DeletedAt.IsZero():
		return errNotDeleted
	}
	if p.done.Waiting = p.t.Now().Before(d.DeletedAt.Add(SettingsNotice)); p.done.Waiting {
		return nil
	}
	self, err := Devices.Key(d.DeviceKey)
	if err != nil {
		return err
	}
	if err := p.beside(ctx, w, self); err != nil {
		return err
	}
	p.done.Items++
	return Devices.Delete(ctx, p.t, d.DeviceKey)
}

// beside deletes what is in the partition of an item, but the item.
func (p *purging) beside(ctx context.Context, w Folded, self table.Item) error {
	n, err := purge.Ranges(ctx, p.t, w.Drain, purge.Beside(self))
	p.done.Items += n
	return err
}
