// Package migration stores the state of a table's migration in the table: that it is being filled
// from another table, that this has finished, or that it moved away. A table that is only partly
// filled must not be used, nor one with a successor.
package migration

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/table"
)

var (
	// ErrUnfinished is returned for a table that is still being filled from another.
	ErrUnfinished = errors.New("move_unfinished")
	// ErrAway is returned for a table that was moved to another store.
	ErrAway = errors.New("moved_away")
)

// Phase is the phase of a migration.
type Phase string

// Phases of a migration: those recorded in its target, and in its source Leaving, which stops all
// users, and Away.
const (
	Copying   Phase = "copying"   // items are copied in any order
	Sweeping  Phase = "sweeping"  // copied again: items that the source no longer has are deleted
	Following Phase = "following" // changes are applied in order
	Finished  Phase = "finished"
	Leaving   Phase = "leaving" // no process uses it any more; the last changes are being copied
	Away      Phase = "away"
)

// Key is the key of the only item.
type Key struct{}

// State is the state of a migration, with everything needed to resume it after a crash.
type State struct {
	Key
	Phase Phase  `dynamodbav:"phase"`
	Peer  string `dynamodbav:"peer"` // the other store, for messages
	// Stream identifies the source's stream by its table and its start time, independent of the way
	// to reach it.
	Stream  string `dynamodbav:"stream,omitempty"`
	Version int64  `dynamodbav:"version"` // incremented with every write

	Owner string    `dynamodbav:"owner,omitempty"` // process that runs the migration
	Until time.Time `dynamodbav:"until"`           // when its hold ends, unless extended
	Saved time.Time `dynamodbav:"saved"`
	Begun time.Time `dynamodbav:"begun"`

	Segments []Segment           `dynamodbav:"segments,omitempty"` // of the scan
	Source   map[string]Position `dynamodbav:"source,omitempty"`   // by shard: changes of the source's stream that are in the target
	Followed time.Time           `dynamodbav:"followed"`           // last read of the source's stream
	Target   map[string]Position `dynamodbav:"target,omitempty"`   // by shard: end of the migration's writes in the target's stream

	Items int64 `dynamodbav:"items"` // copied
	Bytes int64 `dynamodbav:"bytes"`
	Total int64 `dynamodbav:"total"` // size of the source at the start, as reported; DynamoDB updates it every six hours
}

// Segment is a part of a scan.
type Segment struct {
	PK   string `dynamodbav:"pk,omitempty"` // of the last item copied; "": none
	SK   string `dynamodbav:"sk,omitempty"`
	Done bool   `dynamodbav:"done,omitempty"`
}

// Position is a position in a shard.
type Position struct {
	Seq  string `dynamodbav:"seq,omitempty"` // behind this record; "" is before the oldest
	Done bool   `dynamodbav:"done,omitempty"`
}

// States is the entity of a migration's state.
var States = table.Define[State, Key]("onefold.move", table.Def[State]{
	PK: "MOVE", SK: "STATE", Access: table.Access{Ingest: table.Rights{Reads: table.Whole}},
	Example: func(s *State) {
		s.Phase, s.Peer, s.Stream, s.Owner = Following, "embedded:/var/lib/onefold", "onefold/stream/2026-05-12T08:00:00.000", "host-4711"
		s.Source = map[string]Position{"shardId-00000001": {Seq: "100000000000000000042"}}
	},
	Doc: "A migration from or to another table, and its progress.",
})

// FenceKey is the key of a fence.
type FenceKey struct {
	Name string `dynamodbav:"name"` // random, so that fences reach every shard of the stream
}

// Fence is an item written in order to be read from the stream. In each shard, everything written
// before it comes before it.
type Fence struct {
	FenceKey
	Run string    `dynamodbav:"run"` // run of the reader that looks for it
	At  time.Time `dynamodbav:"at"`
}

const keepFence = 24 * time.Hour

// Fences is the entity of fences.
var Fences = table.Define[Fence, FenceKey]("onefold.fence", table.Def[Fence]{
	PK: "MOVEFENCE#{name}", SK: "FENCE",
	Expires: func(f *Fence) time.Time { return f.At.Add(keepFence) },
	Doc:     "A point in the change stream that a migration waits for.",
})

// Now reads the state of the table.
var Now = table.NewGet[Key](States, table.GetDef{
	ID: "O1", Question: "whether a migration of the table is running", Load: table.Load{PerSecond: 0.01, Items: 1, ItemBytes: 500},
})

// Schema is the schema of migrations.
var Schema = table.MustSchema("relocation", Now, Fences)

// Read returns the migration state of a table. ok is false if the table never took part in a
// migration.
func Read(ctx context.Context, t *table.Table) (s State, ok bool, err error) {
	s, err = States.Get(ctx, t, Key{})
	if errors.Is(err, table.ErrNotFound) {
		return s, false, nil
	}
	return s, err == nil, err
}

// Check returns an error for a table that must not be used now. Errors: ErrUnfinished, ErrAway.
func Check(ctx context.Context, api dynamo.API, name string) error {
	s, ok, err := Read(ctx, table.New(api, name, table.Options{}))
	switch {
	case err != nil || !ok || s.Phase == Finished:
		return err
	case s.Phase == Leaving:
		return fmt.Errorf("%w: this table is being moved to %s since %s UTC; use the new table after `onefold move --finish` has completed, or reopen this one with `onefold move --reopen STORE`",
			ErrAway, s.Peer, s.Saved.UTC().Format(time.DateTime))
	case s.Phase == Away:
		return fmt.Errorf("%w: this table was moved to %s at %s; use that table. `onefold move --reopen STORE` reopens this one, without later changes of the other",
			ErrAway, s.Peer, s.Saved.UTC().Format(time.DateTime))
	}
	return fmt.Errorf("%w: this table is being filled from %s; complete that with `onefold move --finish` before you use it, or statistics would be wrong", ErrUnfinished, s.Peer)
}
