package fold

import (
	"github.com/onefold/onefold/fold/lease"
	"github.com/onefold/onefold/table"
)

// Schema is the part of a table's schema that the runtime itself uses. Include it in the schema of
// every table that workers run on.
var Schema = table.MustSchema("fold", Checkpoints, lease.Leases, lease.Members, Gaps, DeadLetters, CheckpointsOf, lease.Of, lease.MembersOf, GapsOf, DeadLettersOf,
	table.Annotations{Callers: []table.Caller{{Name: "folds", Patterns: []string{"F1", "F2", "F3", "F4", "F5"}}}})

// GroupIn names a group.
type GroupIn struct {
	Group string `dynamodbav:"group"`
}

// CheckpointsOf lists the checkpoints of a group.
var CheckpointsOf = table.NewQuery(Checkpoints, table.QueryDef[GroupIn]{
	ID: "F2", Question: "the checkpoints of a group of folds", PK: "FOLD#{group}", Prefix: "CHECKPOINT#",
	Load: table.Load{PerSecond: 0.001, Items: 4, ItemBytes: 150},
})

// GapsOf lists the gaps of a group.
var GapsOf = table.NewQuery(Gaps, table.QueryDef[GroupIn]{
	ID: "F4", Question: "the gaps of a group of folds", PK: "FOLD#{group}", Prefix: "GAP#",
	Load: table.Load{PerSecond: 0.001, Items: 1, ItemBytes: 250},
})

// FoldIn names a fold.
type FoldIn struct {
	Fold string `dynamodbav:"fold"`
}

// DeadLettersOf lists the dead letters of one fold.
var DeadLettersOf = table.NewQuery(DeadLetters, table.QueryDef[FoldIn]{
	ID: "F1", Question: "dead letters of a fold", PK: "FOLD#{fold}", Prefix: "DEAD#",
	Load: table.Load{PerSecond: 0.001, Items: 1, ItemBytes: 1000},
})
