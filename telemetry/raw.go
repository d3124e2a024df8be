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

// The types of package readings, under the names that users of telemetry know.
type (
	ReadingKey = readings.Key
	Reading    = readings.Reading
	Value      = readings.Value
	Values     = readings.Values
)

// ErrDamaged is returned for readings that cannot be read, and names what holds them.
var ErrDamaged = readings.ErrDamaged

// Number is a number, written in decimal; what is written differently but is the same is the same value. The error says
// what is wrong with it: NaN and infinities are no values.
func Number(s string) (Value, error) { return readings.Number(s) }

// Float is a number; see Number.
func Float(f float64) (Value, error) { return readings.Float(f) }

// Text is a text.
func Text(s string) Value { return readings.Text(s) }

// Bool is a truth value.
func Bool(b bool) Value { return readings.Bool(b) }

// ReadingsIn asks for the readings of a device in [From, To), by device time; a zero end is open.
type ReadingsIn struct {
	DeviceID string
	From, To time.Time
	// Partial leaves out what cannot be read. Else it is ErrDamaged.
	Partial bool
}

// of returns the question with the device's fleet, which blocks are found by.
func (in *ReadingsIn) of(ctx context.Context, t *table.Table) (readings.In, error) {
	d, err := DeviceByID.Get(ctx, t, DeviceIn{in.DeviceID})
	if errors.Is(err, table.ErrNotFound) {
		err = nil // there may be segments, until the purge has come to them
	}
	return readings.In{FleetID: d.FleetID, DeviceID: in.DeviceID, From: in.From, To: in.To, Partial: in.Partial}, err
}

// All yields the readings in the order of time, each once.
func (in ReadingsIn) All(ctx context.Context, t *table.Table) iter.Seq2[Reading, error] {
	return in.each(ctx, t, readings.In.All)
}

// Back yields the readings, the latest first.
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

// First returns the first of the readings. Errors: table.ErrNotFound when there is none; those of All.
func (in ReadingsIn) First(ctx context.Context, t *table.Table) (Reading, error) {
	return readings.First(in.All(ctx, t))
}

// Newest returns the latest of the readings. Errors: as First.
func (in ReadingsIn) Newest(ctx context.Context, t *table.Table) (Reading, error) {
	return readings.First(in.Back(ctx, t))
}

// Collect returns all of the readings, in the order of time.
func (in ReadingsIn) Collect(ctx context.Context, t *table.Table) (all []Reading, err error) {
	for r, err := range in.All(ctx, t) {
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, nil
}

// Page reads at most limit readings (0: 50; at most 1,000) in the order of time after a cursor; an empty cursor is the beginning.
// Errors: table.ErrCursor; those of All.
func (in ReadingsIn) Page(ctx context.Context, t *table.Table, cursor string, limit int) (page table.Page[Reading], err error) {
	of, err := in.of(ctx, t)
	if err != nil {
		return page, err
	}
	return of.Page(ctx, t, cursor, limit)
}

// There says which readings of the device, of those with some keys, are there.
func (in ReadingsIn) There(ctx context.Context, t *table.Table, keys []ReadingKey) (map[ReadingKey]bool, error) {
	of, err := in.of(ctx, t)
	if err != nil {
		return nil, err
	}
	return of.There(ctx, t, keys)
}

// MoveReadings moves readings of hours that are over from the blocks in which they arrived to the segments in which they are read, in all
// fleets. Several may do so at once. Errors: ErrDamaged for what stays where it is because it cannot be read; those of the store.
func MoveReadings(ctx context.Context, t *table.Table) (readings.Moved, error) {
	return readings.MoveAll(ctx, t, readings.MoveOptions{Made: madeOf(t)})
}

// MoveReadingsOf moves what has come of a device, of all hours, so that nothing of it is outside of its own partition. Errors: as
// MoveReadings.
func MoveReadingsOf(ctx context.Context, t *table.Table, d *Device) (readings.Moved, error) {
	return readings.MoveShardOf(ctx, t, d.FleetID, d.DeviceID, readings.MoveOptions{Made: madeOf(t)})
}

// madeOf says when devices were made. One that is being deleted is there still.
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
