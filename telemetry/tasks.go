package telemetry

import (
	"context"
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
// of the process that was asked for it. Package maintenance does it.
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
