// Package maintenance does the work of telemetry that waits for its time: it applies retractions, purges what was deleted, moves readings into
// segments, and rolls days up. Whoever asks for such work writes a task, so that it is done whatever becomes of the process that was asked.
package maintenance

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry"
	"github.com/onefold/onefold/telemetry/readings"
)

// Done says what Run did.
type Done struct {
	Tasks   int // that were finished
	Waiting int // tasks for which it is too early, or which failed
	Moved   readings.Moved
	telemetry.RolledUp
}

// Run does what waits: retractions, purges, readings that are to be moved into segments, days that are over. Call it every half minute;
// several may. What fails does not keep the rest from being done: the error joins all.
func Run(ctx context.Context, t *table.Table, w telemetry.Folded) (did Done, err error) {
	var problems []error
	note := func(err error) {
		if err != nil {
			problems = append(problems, err)
		}
	}
	for shard := range telemetry.Shards {
		for task, err := range telemetry.TasksWaiting.All(ctx, t, telemetry.TasksIn{Shard: shard}) {
			if err != nil {
				return did, fmt.Errorf("maintenance: %w", err)
			}
			done, err := do(ctx, t, w, &task)
			if note(err); !done {
				did.Waiting++
				continue
			}
			did.Tasks++
		}
	}
	did.Moved, err = telemetry.MoveReadings(ctx, t)
	note(err)
	did.RolledUp, err = telemetry.RollUp(ctx, t)
	note(err)
	return did, errors.Join(problems...)
}

// do does a task, and forgets it if it is finished and was not asked for again meanwhile. A young one is never finished: it
// is asked for before there is anything to do, so that it is not forgotten by whoever is stopped in between.
func do(ctx context.Context, t *table.Table, w telemetry.Folded, task *telemetry.Task) (done bool, err error) {
	young := t.Now().Before(task.At.Add(telemetry.SettingsNotice))
	switch task.Verb {
	case telemetry.ToRetract:
		waiting, err := telemetry.ApplyRetractions(ctx, t, w, task.ID)
		if gone := errors.Is(err, table.ErrNotFound) || errors.Is(err, telemetry.ErrSealed); waiting || err != nil && !gone {
			return false, err
		}
	case telemetry.ToPurge, telemetry.ToPurgeFleet:
		purge := PurgeDevice
		if task.Verb == telemetry.ToPurgeFleet {
			purge = PurgeFleet
		}
		did, err := purge(ctx, t, w, task.ID)
		if gone := errors.Is(err, table.ErrNotFound) || errors.Is(err, errNotDeleted); did.Waiting || err != nil && !gone {
			return false, err
		}
	}
	if young {
		return false, nil
	}
	err = telemetry.Tasks.Delete(ctx, t, task.TaskKey, taskAt.Eq(task.At))
	if errors.Is(err, table.ErrCondition) {
		return false, nil
	}
	return err == nil, err
}

var taskAt = table.FieldOf(telemetry.Tasks, func(t *telemetry.Task) *time.Time { return &t.At })
