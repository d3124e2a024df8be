// Package migration records the state of a table's migration in the table: being filled from another table, filled, or
// moved away. Processes must not work on a table that is half filled, nor on one that has moved away.
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
	// ErrAway is returned for a table whose items and writers have moved to another.
	ErrAway = errors.New("moved_away")
)

// Phase is how far a move is.
type Phase string

// The phases of a move, as its target says them, and those of its source: Leaving, which ends all that works on it, and Away.
const (
	Copying   Phase = "copying"   // items are read and written, in any order
	Sweeping  Phase = "sweeping"  // copied again: what is no longer in the source is deleted
	Following Phase = "following" // changes are applied, in their order
	Finished  Phase = "finished"
	Leaving   Phase = "leaving" // nobody works on it any more; what came last is being copied
	Away      Phase = "away"
)

// Key is the key of the one item.
type Key struct{}

// State is what a table says of its move, and all that a move needs to go on after a crash.
type State struct {
	Key
	Phase Phase  `dynamodbav:"phase"`
	Peer  string `dynamodbav:"peer"` // the other store, for people
	// Stream names the stream of the source, whatever way it is reached: its table and when it began.
	Stream  string `dynamodbav:"stream,omitempty"`
	Version int64  `dynamodbav:"version"` // one more with every write

	Owner string    `dynamodbav:"owner,omitempty"` // the process that moves
	Until time.Time `dynamodbav:"until"`           // it has the move until then, unless it says so again
	Saved time.Time `dynamodbav:"saved"`
	Begun time.Time `dynamodbav:"begun"`

	Segments []Segment           `dynamodbav:"segments,omitempty"` // of the scan
	Source   map[string]Position `dynamodbav:"source,omitempty"`   // by shard: what of the source's stream is in the target
	Followed time.Time           `dynamodbav:"followed"`           // when the source's stream was read last
	Target   map[string]Position `dynamodbav:"target,omitempty"`   // by shard: up to where the target's stream is of the move

	Items int64 `dynamodbav:"items"` // copied
	Bytes int64 `dynamodbav:"bytes"`
	Total int64 `dynamodbav:"total"` // what the source said that it holds when the move began; DynamoDB counts every six hours
}

// Segment is a part of a scan.
type Segment struct {
	PK   string `dynamodbav:"pk,omitempty"` // of the last item that was copied; "" for none
	SK   string `dynamodbav:"sk,omitempty"`
	Done bool   `dynamodbav:"done,omitempty"`
}

// Position is a place in a shard.
type Position struct {
	Seq  string `dynamodbav:"seq,omitempty"` // behind this record; "" is before the oldest
	Done bool   `dynamodbav:"done,omitempty"`
}

// States are the entity of a table's move.
var States = table.Define[State, Key]("onefold.move", table.Def[State]{
	PK: "MOVE", SK: "STATE",
	Example: func(s *State) {
		s.Phase, s.Peer, s.Stream, s.Owner = Following, "embedded:/var/lib/onefold", "onefold/stream/2026-05-12T08:00:00.000", "host-4711"
		s.Source = map[string]Position{"shardId-00000001": {Seq: "100000000000000000042"}}
	},
	Doc: "That the table is moved from or to another, and how far that is.",
})

// FenceKey is the key of a fence.
type FenceKey struct {
	Name string `dynamodbav:"name"` // random, to reach every shard of the stream
}

// Fence is written to be seen in the stream: what was written before it comes before it, in each shard.
type Fence struct {
	FenceKey
	Run string    `dynamodbav:"run"` // which reader looks for it
	At  time.Time `dynamodbav:"at"`
}

const keepFence = 24 * time.Hour

// Fences are the entity of fences.
var Fences = table.Define[Fence, FenceKey]("onefold.fence", table.Def[Fence]{
	PK: "MOVEFENCE#{name}", SK: "FENCE",
	Expires: func(f *Fence) time.Time { return f.At.Add(keepFence) },
	Doc:     "A place in the change stream that a move waits for.",
})

// Now is the state of the table.
var Now = table.NewGet[Key](States, table.GetDef{
	ID: "O1", Question: "whether the table is moved", Load: table.Load{PerSecond: 0.01, Items: 1, ItemBytes: 500},
})

// Schema is what a table holds of its move.
var Schema = table.MustSchema("relocation", Now, Fences)

// Read returns the state of a table, ok false when it never took part in a move.
func Read(ctx context.Context, t *table.Table) (s State, ok bool, err error) {
	s, err = States.Get(ctx, t, Key{})
	if errors.Is(err, table.ErrNotFound) {
		return s, false, nil
	}
	return s, err == nil, err
}

// Check fails for a table that must not be worked on now. Errors: ErrUnfinished, ErrAway.
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
