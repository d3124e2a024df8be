package telemetry

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"

	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/table"
)

// CatchUpStatus puts readings into the status of their device that folds have missed, or may have: the latest stays the latest,
// however often it is told. Only the rhythm in which the device sends would count twice, and is left to what it sends next.
func CatchUpStatus(ctx context.Context, t *table.Table, deviceID string, readings iter.Seq2[Reading, error]) error {
	add := Status{StatusKey: StatusKey{deviceID}}
	for r, err := range readings {
		if err != nil {
			return fmt.Errorf("telemetry: catch up with device %q: %w", shorten(deviceID), err)
		}
		if !r.Quiet {
			add.add(&r)
		}
	}
	if len(add.Values) == 0 {
		return nil
	}
	err := table.ErrConflict
	for try := 0; try < maxTries && errors.Is(err, table.ErrConflict); try++ {
		err = add.into(ctx, t)
	}
	return err
}

func (s *Status) into(ctx context.Context, t *table.Table) error {
	stored, err := fold.Load(ctx, t, Statuses, []StatusKey{s.StatusKey})
	if err != nil {
		return err
	}
	is, more := stored[0].State, *s
	more.Values = maps.Clone(s.Values)
	rhythm := is.Arrivals
	if is.merge(&more); stored[0].Version != 0 {
		is.Arrivals = rhythm
	}
	is.finish()
	return fold.ReplaceState(ctx, t, Statuses, s.StatusKey, is, stored[0].Version)
}
