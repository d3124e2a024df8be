package telemetry

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry/readings"
)

// Aliases of types of package readings.
type (
	ReadingKey = readings.Key
	Reading    = readings.Reading
	Value      = readings.Value
	Values     = readings.Values
)

// ErrDamaged is returned for unreadable readings. The message names the item that holds them.
var ErrDamaged = readings.ErrDamaged

// Number parses a decimal number. Different notations of a number yield the same value. The error
// says what is wrong; NaN and infinities are not numbers.
func Number(s string) (Value, error) { return readings.Number(s) }

// Float returns a number; see Number.
func Float(f float64) (Value, error) { return readings.Float(f) }

// Text returns a text value.
func Text(s string) Value { return readings.Text(s) }

// Bool returns a truth value.
func Bool(b bool) Value { return readings.Bool(b) }

// ReadingsIn selects the readings of a device in [From, To), by device time; a zero end is open.
type ReadingsIn struct {
	DeviceID string
	From, To time.Time
	// Partial skips unreadable items. Otherwise they are errors, ErrDamaged.
	Partial bool
}

// of returns the query with the device's fleet, by which blocks are found.
func (in *ReadingsIn) of(ctx context.Context, t *table.Table) (readings.In, error) {
	d, err := DeviceByID.Get(ctx, t, DeviceIn{in.DeviceID})
	if errors.Is(err, table.ErrNotFound) {
		err = nil // segments may exist until the purge deletes them
	}
	return readings.In{FleetID: d.FleetID, DeviceID: in.DeviceID, From: in.From, To: in.To, Partial: in.Partial}, err
}

// All yields the readings by time, each once. Errors: ErrDamaged; those of the store.
func (in ReadingsIn) All(ctx context.Context, t *table.Table) iter.Seq2[Reading, error] {
	return in.each(ctx, t, readings.In.All)
}

// Back yields the readings, latest first. Errors: as All.
func (in ReadingsIn) Back(ctx context.Context, t *table.Table) iter.Seq2[Reading, error] {
	return in.each(ctx, t, readings.In.Back)
}

func (in ReadingsIn) each(ctx context.Context, t *table.Table, order func(readings.In, context.Context, *table.Table) iter.Seq2[Reading, error]) iter.Seq2[Reading, error] {
	return func(yield func(Reading, error) bool) {
		of, err := in.of(ctx, t)
		if err != nil {
			yield(Reading{}, err)
			return
		}
		order(of, ctx, t)(yield)
	}
}

// First returns the first reading. Errors: table.ErrNotFound if there is none; those of All.
func (in ReadingsIn) First(ctx context.Context, t *table.Table) (Reading, error) {
	return readings.First(in.All(ctx, t))
}

// Newest returns the latest reading. Errors: as First.
func (in ReadingsIn) Newest(ctx context.Context, t *table.Table) (Reading, error) {
	return readings.First(in.Back(ctx, t))
}

// Collect returns all readings by time.
func (in ReadingsIn) Collect(ctx context.Context, t *table.Table) (all []Reading, err error) {
	for r, err := range in.All(ctx, t) {
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, nil
}

// Page returns up to limit readings (0: 50; at most 1,000) by time after a cursor; "" is the
// beginning. Errors: table.ErrCursor; those of All.
func (in ReadingsIn) Page(ctx context.Context, t *table.Table, cursor string, limit int) (page table.Page[Reading], err error) {
	of, err := in.of(ctx, t)
	if err != nil {
		return page, err
	}
	return of.Page(ctx, t, cursor, limit)
}

// Exists returns the given keys under which the device has readings.
func (in ReadingsIn) Exists(ctx context.Context, t *table.Table, keys []ReadingKey) (map[ReadingKey]bool, error) {
	of, err := in.of(ctx, t)
	if err != nil {
		return nil, err
	}
	return of.Exists(ctx, t, keys)
}

// MoveReadings moves readings of completed hours from the blocks of their arrival to the segments
// from which they are read, in all fleets. It may run concurrently. Errors: ErrDamaged for
// unreadable items, which stay where they are; those of the store.
func MoveReadings(ctx context.Context, t *table.Table) (readings.Moved, error) {
	return readings.MoveAll(ctx, t, readings.MoveOptions{Made: madeOf(t)})
}

// MoveReadingsOf moves all readings of a device, also of the current hour, so that all are in the
// device's own partition. Errors: as MoveReadings.
func MoveReadingsOf(ctx context.Context, t *table.Table, d *Device) (readings.Moved, error) {
	return readings.MoveShardOf(ctx, t, d.FleetID, d.DeviceID, readings.MoveOptions{Made: madeOf(t)})
}

// madeOf returns when devices were created. Devices being deleted still count.
func madeOf(t *table.Table) func(ctx context.Context, ids []string) (map[string]int64, error) {
	return func(ctx context.Context, ids []string) (map[string]int64, error) {
		keys := make([]DeviceKey, len(ids))
		for i, id := range ids {
			keys[i].DeviceID = id
		}
		all, err := Devices.GetMany(ctx, t, keys)
		if err != nil {
			return nil, fmt.Errorf("telemetry: devices of readings: %w", err)
		}
		made := make(map[string]int64, len(all))
		for i := range all {
			made[all[i].DeviceID] = all[i].CreatedAt.Unix()
		}
		return made, nil
	}
}
