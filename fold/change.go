package fold

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/onefold/onefold/table"
)

// Sequence is the sequence number of a stream record: a decimal number of varying length, ordered
// within its shard. The empty sequence precedes all others.
type Sequence string

// Compare orders sequences by length, then by digits, which is numeric order because they have no
// leading zeros.
func (s Sequence) Compare(o Sequence) int {
	if c := cmp.Compare(len(s), len(o)); c != 0 {
		return c
	}
	return strings.Compare(string(s), string(o))
}

// maxSequence returns the greater of two sequences.
func maxSequence(a, b Sequence) Sequence {
	if a.Compare(b) >= 0 {
		return a
	}
	return b
}

// Kind is the type of a change.
type Kind int

// The kinds of change. Overwriting an item is a Modify.
const (
	Insert Kind = iota
	Modify
	Remove
)

var kindNames = [...]string{"INSERT", "MODIFY", "REMOVE"}

// String returns the stream's name for the kind, such as INSERT.
func (k Kind) String() string {
	if k < 0 || int(k) >= len(kindNames) {
		return "UNKNOWN"
	}
	return kindNames[k]
}

// A Change is one committed change of one item, as reported by the stream.
type Change struct {
	Shard   string
	Seq     Sequence
	At      time.Time // approximate commit time
	Kind    Kind
	Expired bool       // deleted by TTL (userIdentity dynamodb.amazonaws.com); not a retraction, so folds never see it
	Old     table.Item // nil if the item did not exist before
	New     table.Item // nil if the item no longer exists
	bytes   int        // size of the images, which are dropped once decoded
}

// A Shard is a part of a stream. Its changes are ordered, and all changes of its parent precede
// them.
type Shard struct {
	ID     string
	Parent string // "" if it has none; the parent may no longer be listed
	Closed bool   // no more changes will be added
}

// A ReadRequest asks a Source for changes of one shard.
type ReadRequest struct {
	Shard string
	After Sequence                 // "" reads from the oldest change still kept
	Max   int                      // maximum number of records
	Want  func(entity string) bool // selects changes by entity; nil selects all
	Turn  uint64                   // the reader's turn, which never decreases; see Batch.Since
}

// A Batch is the result of one read of a shard.
type Batch struct {
	Changes []Change  // of the wanted entities, in order
	Read    int       // number of records read, wanted or not
	Last    Sequence  // where the next read starts: the last record read, or After if none was
	At      time.Time // commit time of the last record; zero if none was read
	Tip     bool      // the read found nothing more; DynamoDB may report this slightly too early
	Since   uint64    // turn of the first read that Tip is based on; 0 if it is based on this read alone
	End     bool      // the shard is closed and has been read completely
	Trimmed bool      // changes after After expired before they were read
}

// A Source delivers changes. It is safe for concurrent use, with at most one reader per shard.
type Source interface {
	// Shards lists all shards whose changes are still kept.
	Shards(ctx context.Context) ([]Shard, error)
	// Read returns the next changes of a shard. It does not wait for new ones.
	Read(ctx context.Context, r ReadRequest) (Batch, error)
}

// A Pacer is a Source with a preferred polling interval.
type Pacer interface {
	// Pace returns how long a worker waits after a read that found nothing. 0 means the worker's
	// default.
	Pace() time.Duration
}
