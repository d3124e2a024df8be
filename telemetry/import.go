package telemetry

import (
	"context"
	"errors"
	"fmt"

	"github.com/onefold/onefold/table"
)

// ImportOptions configures an import of past readings.
type ImportOptions struct {
	FleetID string // only devices of this fleet are known; "": all
	MakeIn  string // fleet in which to create unknown devices; "": they stay unknown
	DryRun  bool   // compute the outcomes without writing
}

// Import stores past readings like Ingest, but exempt from the late and rate limits, and kept from
// now on. made lists the devices that were created, or would be. A dry run ignores repetitions
// within in. Errors: those of the store and of ctx; table.ErrNotFound for an unknown o.MakeIn.
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

// make creates a device, or in a dry run its state. fresh is false if the ID is already in use.
func (c *Collector) make(ctx context.Context, id string, o *ImportOptions) (imagined *deviceState, fresh bool, err error) {
	n := NewDevice{ID: id, FleetID: o.MakeIn}
	if o.DryRun {
		imagined, err = c.devices.StateOf(ctx, n.device(c.t), new(deviceEntry))
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
