package telemetry

import (
	"context"
	"errors"
	"fmt"

	"github.com/onefold/onefold/table"
)

// ImportOptions say how readings of the past are taken.
type ImportOptions struct {
	FleetID string // that devices must be of, or they are unknown; "": any
	MakeIn  string // the fleet in which devices that are not there are made; "": they are unknown
	DryRun  bool   // say what would become of the readings, and write nothing
}

// Import stores readings of the past, as Ingest does: they are neither late nor too fast, and kept from now on. made are the
// devices that were made, or would be. In a dry run, of two readings that are the same both would be stored. Errors: those of
// the store and of ctx; table.ErrNotFound when there is no fleet to make devices in.
func (c *Collector) Import(ctx context.Context, in []Incoming, o ImportOptions) (became []Outcome, made []string, err error) {
	imagined := map[string]*deviceState{}
	for i := range in {
		in[i].Imported, in[i].FleetID = true, o.FleetID
		id := in[i].DeviceID
		if o.MakeIn == "" || checkID("device", id) != nil || i > 0 && id == in[i-1].DeviceID || imagined[id] != nil {
			continue
		}
		known, err := c.devices.get(ctx, id)
		if err == nil && known == nil {
			var fresh bool
			if imagined[id], fresh, err = c.make(ctx, id, &o); fresh {
				made = append(made, id)
			}
		}
		if err != nil {
			return nil, made, fmt.Errorf("telemetry: import: %w", err)
		}
	}
	if o.DryRun {
		became, err = c.preview(ctx, in, imagined)
	} else {
		became, err = c.Ingest(ctx, in)
	}
	return became, made, err
}

// make makes a device, or what would be known of it in a dry run. It is not fresh if another made it meanwhile, or is deleting it.
func (c *Collector) make(ctx context.Context, id string, o *ImportOptions) (imagined *deviceState, fresh bool, err error) {
	n := NewDevice{ID: id, FleetID: o.MakeIn}
	if o.DryRun {
		imagined, err = c.devices.stateOf(ctx, n.device(c.t), new(deviceEntry))
		if err == nil && imagined == nil {
			err = fmt.Errorf("fleet %q: %w", o.MakeIn, table.ErrNotFound)
		}
		return imagined, err == nil, err
	}
	_, err = CreateDevice(ctx, c.t, n)
	c.Forget(id)
	if errors.Is(err, table.ErrExists) {
		return nil, false, nil
	}
	return nil, err == nil, err
}
