// Package maintenance does telemetry's deferred work: it applies retractions, purges deleted
// devices and fleets, moves readings into segments, and rolls up days. Requests for such work are
// stored as tasks, so that they survive the requesting process.
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

// Done is the result of Run.
type Done struct {
	Tasks   int // completed tasks
	Waiting int // tasks that are not due yet, or failed
	Moved   readings.Moved
	telemetry.RolledUp
}

// Run does all pending work: tasks, moving readings into segments, and roll-ups. Call it every half
// minute; calls may be concurrent. A failure does not stop other work: the error joins all
// failures.
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

// do executes a task, and deletes it if it is completed and was not requested again in the
// meantime. A task younger than SettingsNotice is kept, because it is stored before the work
// exists: its requester may have stopped in between, and repeats it.
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
