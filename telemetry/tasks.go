package telemetry

import (
	"context"
	"time"

	"github.com/onefold/onefold/table"
)

// TaskKey names pending work.
type TaskKey struct {
	Shard int    `dynamodbav:"shard"`
	Verb  Verb   `dynamodbav:"verb"`
	ID    string `dynamodbav:"id"` // device or fleet ID
}

// Task is pending, possibly long work on a device or fleet. It is stored so that it survives the
// process that requested it. Package maintenance executes it.
type Task struct {
	TaskKey
	At time.Time `dynamodbav:"at"` // last request
}

// Verb is the kind of work.
type Verb string

const (
	ToRetract    Verb = "retract"
	ToPurge      Verb = "purge"
	ToPurgeFleet Verb = "purge_fleet"
)

// Tasks holds the pending work.
var Tasks = table.Define[Task, TaskKey]("telemetry.task", table.Def[Task]{
	PK: "DEVICE_TASKS#{shard}", SK: "TASK#{verb}#{id}",
	Doc: "Scheduled work on a device or a fleet.",
})

// TasksIn names a shard.
type TasksIn struct {
	Shard int `dynamodbav:"shard"`
}

// TasksWaiting queries the pending work of a shard.
var TasksWaiting = table.NewQuery(Tasks, table.QueryDef[TasksIn]{
	ID: "T19", Question: "the scheduled work on devices and fleets", Load: table.Load{PerSecond: 0.3, Items: 1, ItemBytes: 120},
})

// ask requests work on a device or fleet. It is harmless if the work was done in the meantime.
func ask(ctx context.Context, t *table.Table, verb Verb, id string) error {
	return Tasks.Put(ctx, t, &Task{TaskKey{table.Shard(id, Shards), verb, id}, nowOf(t)})
}
