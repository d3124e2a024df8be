package telemetry

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/onefold/onefold/table"
)

// TaskKey names work that waits.
type TaskKey struct {
	Shard int    `dynamodbav:"shard"`
	Verb  Verb   `dynamodbav:"verb"`
	ID    string `dynamodbav:"id"` // of the device, or of the fleet
}

// Task says that something is to be done with a device or a fleet which takes its time, so that it is done whatever becomes
// of the process that was asked for it. Upkeep does it.
type Task struct {
	TaskKey
	At time.Time `dynamodbav:"at"` // when it was asked for last
}

// Verb says what is to be done.
type Verb string

// The verbs.
const (
	ToRetract    Verb = "retract"
	ToPurge      Verb = "purge"
	ToPurgeFleet Verb = "purge_fleet"
)

// Tasks are the work that waits.
var Tasks = table.Define[Task, TaskKey]("telemetry.task", table.Def[Task]{
	PK: "DEVICE_TASKS#{shard}", SK: "TASK#{verb}#{id}",
	Doc: "Work on a device or a fleet that waits for its time.",
})

// TasksIn names a shard.
type TasksIn struct {
	Shard int `dynamodbav:"shard"`
}

// TasksWaiting is the work that waits.
var TasksWaiting = table.NewQuery(Tasks, table.QueryDef[TasksIn]{
	ID: "T19", Question: "the work on devices that waits", Load: table.Load{PerSecond: 0.3, Items: 1, ItemBytes: 120},
})

// ask has the upkeep do something with a device or a fleet. Work that was done meanwhile turns out to be none.
func ask(ctx context.Context, t *table.Table, verb Verb, id string) error {
	return Tasks.Put(ctx, t, &Task{TaskKey{table.Shard(id, Shards), verb, id}, nowOf(t)})
}

// Kept says what Upkeep did.
type Kept struct {
	Tasks   int // that were finished
	Waiting int // tasks for which it is too early, or which failed
	RolledUp
}

// Upkeep does what waits: retractions, purges, days that are over. Call it every half minute;
// several may. What fails does not keep the rest from being done: the error joins all.
func Upkeep(ctx context.Context, t *table.Table, w Folded) (did Kept, err error) {
	var problems []error
	note := func(err error) {
		if err != nil {
			problems = append(problems, err)
		}
	}
	for shard := range Shards {
		for task, err := range TasksWaiting.All(ctx, t, TasksIn{shard}) {
			if err != nil {
				return did, fmt.Errorf("telemetry: upkeep: %w", err)
			}
			done, err := task.do(ctx, t, w)
			if note(err); !done {
				did.Waiting++
				continue
			}
			did.Tasks++
		}
	}
	did.RolledUp, err = RollUp(ctx, t)
	note(err)
	return did, errors.Join(problems...)
}

// do does a task, and forgets it if it is finished and was not asked for again meanwhile. A young one is never finished: it
// is asked for before there is anything to do, so that it is not forgotten by whoever is stopped in between.
func (task *Task) do(ctx context.Context, t *table.Table, w Folded) (done bool, err error) {
	young := t.Now().Before(task.At.Add(SettingsNotice))
	switch task.Verb {
	case ToRetract:
		waiting, err := ApplyRetractions(ctx, t, w, task.ID)
		if gone := errors.Is(err, table.ErrNotFound) || errors.Is(err, ErrSealed); waiting || err != nil && !gone {
			return false, err
		}
	case ToPurge, ToPurgeFleet:
		purge := PurgeDevice
		if task.Verb == ToPurgeFleet {
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
	err = Tasks.Delete(ctx, t, task.TaskKey, taskAt.Eq(task.At))
	if errors.Is(err, table.ErrCondition) {
		return false, nil
	}
	return err == nil, err
}

var taskAt = table.FieldOf(Tasks, func(t *Task) *time.Time { return &t.At })
