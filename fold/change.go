package fold

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/onefold/onefold/table"
)

// Sequence is the sequence number of a stream record: a decimal of varying length, ordered within its shard. The empty
// sequence is before all others.
type Sequence string

// Compare orders sequences by length, then by digits.
func (s Sequence) Compare(o Sequence) int {
	if c := cmp.Compare(len(s), len(o)); c != 0 {
		return c
	}
	return strings.Compare(string(s), string(o))
}

func later(a, b Sequence) Sequence {
	if a.Compare(b) >= 0 {
		return a
	}
	return b
}

// Kind says what happened to an item.
type Kind int

// The kinds of change. An overwrite is a Modify.
const (
	Insert Kind = iota
	Modify
	Remove
)

var kindNames = [...]string{"INSERT", "MODIFY", "REMOVE"}

// String returns the stream's name of the kind.
func (k Kind) String() string {
	if k < 0 || int(k) >= len(kindNames) {
		return "UNKNOWN"
	}
	return kindNames[k]
}

// A Change is one committed change of one item, as the stream tells it.
type Change struct {
	Shard   string
	Seq     Sequence
	At      time.Time // about when the change was committed
	Kind    Kind
	Expired bool       // a removal by ttl (userIdentity dynamodb.amazonaws.com). Not a retraction: folds never see it
	Old     table.Item // nil if there was no item
	New     table.Item // nil if there is none now
	bytes   int        // of the images, which are dropped once they are decoded
}

// A Shard is a part of a stream. Its changes are in order; a parent's come before its children's.
type Shard struct {
	ID     string
	Parent string // "" for none. It may no longer be listed
	Closed bool   // no change is added any more
}

// A ReadRequest asks a Source for the changes of one shard.
type ReadRequest struct {
	Shard string
	After Sequence                 // "" reads from the oldest change that is kept
	Max   int                      // at most this many records
	Want  func(entity string) bool // which entities' changes are wanted; nil wants all
	Turn  uint64                   // of the reader, never less than before: see Batch.Since
}

// A Batch is what a Source answers.
type Batch struct {
	Changes []Change  // of wanted entities, in order
	Read    int       // records read, wanted or not
	Last    Sequence  // where the next read goes on: the last record read, or the After of the request
	At      time.Time // when the last record was committed, zero if none was read
	Tip     bool      // nothing came: on the engine, there was nothing more; DynamoDB may answer so a little early
	Since   uint64    // the turn of the first of the reads that Tip rests on; 0: it rests on this one alone
	End     bool      // the shard is closed, and this was the last of it
	Missed  bool      // changes behind After are no longer kept: they have been missed
}

// A Source is where changes come from. It is safe for concurrent use, one reader a shard.
type Source interface {
	// Shards lists all shards whose changes are still kept.
	Shards(ctx context.Context) ([]Shard, error)
	// Read returns the next changes of a shard. It does not wait for changes to come.
	Read(ctx context.Context, r ReadRequest) (Batch, error)
}

// A Pacer is a source that says how often it is to be asked.
type Pacer interface {
	// Pace is how long a worker waits before it asks again when nothing came; 0: as long as its options say.
	Pace() time.Duration
}
