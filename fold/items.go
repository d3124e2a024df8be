package fold

import (
	"time"

	"github.com/onefold/onefold/table"
)

// CheckpointKey is where a group's progress on one stream shard is kept.
type CheckpointKey struct {
	Group string `dynamodbav:"group"`
	Shard string `dynamodbav:"shard"`
}

// A Checkpoint says that all changes of a shard up to Position are folded and durable, in every fold of the group.
type Checkpoint struct {
	CheckpointKey
	Position string    `dynamodbav:"pos"`
	Read     time.Time `dynamodbav:"read,omitempty"`   // about when the change at Position was committed
	Done     bool      `dynamodbav:"done,omitempty"`   // the shard is closed and folded to its end
	Missed   int       `dynamodbav:"missed,omitempty"` // how often changes were trimmed before they were read, see Missed
	Fed      bool      `dynamodbav:"fed,omitempty"`    // changes of the shard were given to Handle, which is not told where it ends
	Owner    string    `dynamodbav:"by,omitempty"`     // who wrote it
	At       time.Time `dynamodbav:"at"`
}

// How long the runtime's own items are kept. Streams keep changes for a day, so a checkpoint that was not written for
// longer has served its purpose; it stays because marks of rarely written items may still refer to it.
const (
	keepCheckpoint = 90 * 24 * time.Hour
	keepLease      = 48 * time.Hour // for longer than the stream lists a shard that has ended
	keepDead       = 90 * 24 * time.Hour
	keepMissed     = 90 * 24 * time.Hour
	keepTombstone  = 48 * time.Hour
)

// Checkpoints is the entity of checkpoints.
var Checkpoints = table.Define[Checkpoint, CheckpointKey]("fold.checkpoint", table.Def[Checkpoint]{
	PK: "FOLD#{group}", SK: "CHECKPOINT#{shard}",
	Expires: func(c *Checkpoint) time.Time { return c.At.Add(keepCheckpoint) },
	Example: func(c *Checkpoint) { c.Owner = "worker-1" },
	Doc:     "How far a group of folds has counted a stream shard.",
})

// LeaseKey is where the lease of a stream shard is kept.
type LeaseKey struct {
	Group string `dynamodbav:"group"`
	Shard string `dynamodbav:"shard"`
}

// A Lease says which worker reads a shard. It saves work; correctness does not need it. It has run out for whoever has
// seen it unchanged for as long as it holds, by one clock, its own: the times in it are of another's, and only shown.
type Lease struct {
	LeaseKey
	Owner string        `dynamodbav:"by"`   // "": it was given back
	Turn  int64         `dynamodbav:"turn"` // one more at every renewal
	For   time.Duration `dynamodbav:"for"`  // how long it holds without renewal, in nanoseconds
	At    time.Time     `dynamodbav:"at"`   // when it was renewed, by the owner's clock

	// What the owner told of the shard at the renewal.
	Mark     time.Time `dynamodbav:"mark,omitempty"`     // every change that was committed before is folded; zero: not known
	Parent   string    `dynamodbav:"parent,omitempty"`   // the shard that it goes on from
	Siblings int       `dynamodbav:"siblings,omitempty"` // how many shards go on from that, itself too; of shards without a parent all of them
}

// Leases is the entity of leases.
var Leases = table.Define[Lease, LeaseKey]("fold.lease", table.Def[Lease]{
	PK: "FOLD#{group}", SK: "LEASE#{shard}",
	Expires: func(l *Lease) time.Time { return l.At.Add(l.For + keepLease) },
	Example: func(l *Lease) { l.Owner, l.For, l.Siblings = "worker-1", 30*time.Second, 4 },
	Doc:     "Which worker reads a stream shard now.",
})

// MissedKey is where it is kept that changes were missed.
type MissedKey struct {
	Group string `dynamodbav:"group"`
	Shard string `dynamodbav:"shard"`
	After string `dynamodbav:"after"` // the last change that was read, "0" for none
}

// Missed says that changes of a shard were trimmed before they were read: no worker ran for a day. What they touch must be
// made again from the facts: see Mend.
type Missed struct {
	MissedKey
	From   time.Time `dynamodbav:"from"` // what was missed was committed after this
	To     time.Time `dynamodbav:"to"`   // and before this
	Found  time.Time `dynamodbav:"found"`
	Owner  string    `dynamodbav:"by,omitempty"`     // who found it
	Mended time.Time `dynamodbav:"mended,omitempty"` // zero: not yet
	Told   string    `dynamodbav:"told,omitempty"`   // what Mend has to say about it
}

// Misses is the entity of what was missed.
var Misses = table.Define[Missed, MissedKey]("fold.missed", table.Def[Missed]{
	PK: "FOLD#{group}", SK: "MISSED#{shard}#{after}",
	Expires: func(m *Missed) time.Time { return m.Found.Add(keepMissed) },
	Example: func(m *Missed) { m.Owner, m.Told = "worker-1", "made again: 2 sites, 3 days" },
	Doc:     "Changes that were trimmed before a group had folded them, and whether what they touch was made again.",
})

// DeadKey is where a dead letter is kept.
type DeadKey struct {
	Fold  string `dynamodbav:"fold"`
	Seq   string `dynamodbav:"seq"`
	Shard string `dynamodbav:"shard"`
	Part  string `dynamodbav:"part"` // "change", "fact-" and the place of a fact in it, or a hash of the derived item that could not be written
}

// A Dead letter is a change that a fold could not apply, or one fact of it, or a derived item that could not be written. The shard went on
// without it: after the fault is mended, the derived items concerned must be rebuilt.
type Dead struct {
	DeadKey
	Reason  string    `dynamodbav:"reason"`
	Kind    string    `dynamodbav:"kind,omitempty"`   // INSERT, MODIFY or REMOVE, of a change
	ItemPK  string    `dynamodbav:"itempk,omitempty"` // of the changed item, or of the derived one
	ItemSK  string    `dynamodbav:"itemsk,omitempty"`
	Changes int       `dynamodbav:"changes"` // how many changes are not counted for it
	At      time.Time `dynamodbav:"at"`      // when the change was committed
	Found   time.Time `dynamodbav:"found"`
}

// DeadLetters is the entity of dead letters.
var DeadLetters = table.Define[Dead, DeadKey]("fold.dead", table.Def[Dead]{
	PK: "FOLD#{fold}", SK: "DEAD#{seq}#{shard}#{part}",
	Expires: func(d *Dead) time.Time { return d.Found.Add(keepDead) },
	Example: func(d *Dead) { d.Kind, d.Reason = "MODIFY", "the new image has no total" },
	Doc:     "A change that a fold could not apply, with the reason.",
})
