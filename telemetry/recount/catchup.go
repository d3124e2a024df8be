package recount

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"

	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry"
)

// CatchUp adds readings that folds may have missed to the status of their device. It is idempotent:
// the latest value stays the latest. Only the expected interval would be affected by repeated
// arrivals, so it is left to later readings. Errors: table.ErrConflict if the status keeps being
// written; those of readings.
func CatchUp(ctx context.Context, t *table.Table, deviceID string, readings iter.Seq2[telemetry.Reading, error]) error {
	add := telemetry.Status{StatusKey: telemetry.StatusKey{DeviceID: deviceID}}
	for r, err := range readings {
		if err != nil {
			return fmt.Errorf("recount: catch up with device %q: %w", deviceID, err)
		}
		if !r.Quiet {
			add.Add(&r)
		}
	}
	if len(add.Values) == 0 {
		return nil
	}
	err := table.ErrConflict
	for try := 0; try < maxTries && errors.Is(err, table.ErrConflict); try++ {
		err = into(ctx, t, &add)
	}
	return err
}

func into(ctx context.Context, t *table.Table, s *telemetry.Status) error {
	stored, err := fold.Load(ctx, t, telemetry.Statuses, []telemetry.StatusKey{s.StatusKey})
	if err != nil {
		return err
	}
	is, more := stored[0].State, *s
	more.Values = maps.Clone(s.Values)
	rhythm := is.Arrivals
	if is.Merge(&more); stored[0].Version != 0 {
		is.Arrivals = rhythm
	}
	is.Finish()
	return fold.ReplaceState(ctx, t, telemetry.Statuses, s.StatusKey, is, stored[0].Version)
}

// MarkDay marks a day of a device for a roll-up, for callers that know of changes without a mark.
func MarkDay(ctx context.Context, t *table.Table, fleetID, deviceID, day string) error {
	key := telemetry.RollupKey{Shard: table.Shard(deviceID, telemetry.Shards), Day: day, DeviceID: deviceID}
	stored, err := fold.Load(ctx, t, telemetry.RollupMarks, []telemetry.RollupKey{key})
	if err == nil && (stored[0].Version == 0 || stored[0].Removed) {
		err = fold.ReplaceState(ctx, t, telemetry.RollupMarks, key, telemetry.RollupMark{RollupKey: key, FleetID: fleetID, Changed: t.Now().Unix()}, stored[0].Version)
	}
	if err != nil && !errors.Is(err, table.ErrConflict) { // ErrConflict: it was marked just now
		return fmt.Errorf("recount: mark %s of device %q: %w", day, deviceID, err)
	}
	return nil
}
