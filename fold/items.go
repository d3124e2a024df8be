package fold

import (
	"time"

	"github.com/onefold/onefold/table"
)

// CheckpointKey identifies the progress of a group in one stream shard.
type CheckpointKey struct {
	Group string `dynamodbav:"group"`
	Shard string `dynamodbav:"shard"`
}

// A Checkpoint states that every fold of the group has durably folded all changes of a shard up to
// Position.
type Checkpoint struct {
	CheckpointKey
	Position string    `dynamodbav:"pos"`
	Read     time.Time `dynamodbav:"read,omitempty"` // approximate commit time of the change at Position
	Done     bool      `dynamodbav:"done,omitempty"` // the shard is closed and completely folded
	Gaps     int       `dynamodbav:"gaps,omitempty"` // number of gaps, see Gap
	Fed      bool      `dynamodbav:"fed,omitempty"`  // changes of the shard were passed to Handle, which does not learn where a shard ends
	Owner    string    `dynamodbav:"by,omitempty"`   // the worker that wrote it
	At       time.Time `dynamodbav:"at"`
}

// How long the runtime's own items are kept. Streams keep changes for a day, so an older checkpoint
// is no longer needed to resume. It is kept because marks of rarely written items may still refer
// to it.
const (
	keepCheckpoint = 90 * 24 * time.Hour
	keepDead       = 90 * 24 * time.Hour
	keepGaps       = 90 * 24 * time.Hour
	keepTombstone  = 48 * time.Hour
)

// Checkpoints is the entity of checkpoints.
var Checkpoints = table.Define[Checkpoint, CheckpointKey]("fold.checkpoint", table.Def[Checkpoint]{
	PK: "FOLD#{group}", SK: "CHECKPOINT#{shard}", Access: table.Access{Fold: table.Rights{Puts: table.Whole}},
	Expires: func(c *Checkpoint) time.Time { return c.At.Add(keepCheckpoint) },
	Example: func(c *Checkpoint) { c.Owner = "worker-1" },
	Doc:     "The position up to which a group of folds has counted a stream shard.",
})

// GapKey identifies a gap.
type GapKey struct {
	Group string `dynamodbav:"group"`
	Shard string `dynamodbav:"shard"`
	After string `dynamodbav:"after"` // the last change read before the gap, "0" for none
}

// Gap is a gap: changes of a shard that expired before they were read, because no worker ran for
// a day. The derived items they affect must be rebuilt from the facts; see RepairGaps.
type Gap struct {
	GapKey
	From     time.Time `dynamodbav:"from"` // the missed changes were committed after this
	To       time.Time `dynamodbav:"to"`   // and before this
	Found    time.Time `dynamodbav:"found"`
	Owner    string    `dynamodbav:"by,omitempty"`       // the worker that found the gap
	Repaired time.Time `dynamodbav:"repaired,omitempty"` // when the gap was repaired; zero if it is open
	Report   string    `dynamodbav:"report,omitempty"`   // what the repair reported
}

// Gaps is the entity of gaps.
var Gaps = table.Define[Gap, GapKey]("fold.gap", table.Def[Gap]{
	PK: "FOLD#{group}", SK: "GAP#{shard}#{after}", Access: table.Access{Fold: table.Rights{Puts: table.Whole}},
	Expires: func(m *Gap) time.Time { return m.Found.Add(keepGaps) },
	Example: func(m *Gap) { m.Owner, m.Report = "worker-1", "rebuilt: 2 sites, 3 days" },
	Doc:     "A gap: changes that expired from the stream before a group folded them, and whether the derived items were repaired.",
})

// DeadKey identifies a dead letter.
type DeadKey struct {
	Fold  string `dynamodbav:"fold"`
	Seq   string `dynamodbav:"seq"`
	Shard string `dynamodbav:"shard"`
	Part  string `dynamodbav:"part"` // "change"; "fact-" and the position of a fact in the change; or a hash of the derived item that could not be written
}

// A Dead letter is a change, or one fact of it, that a fold could not apply, or a derived item that
// could not be written. Folding continued without it. After the cause is fixed, the derived items
// concerned must be rebuilt.
type Dead struct {
	DeadKey
	Reason  string    `dynamodbav:"reason"`
	Kind    string    `dynamodbav:"kind,omitempty"`   // INSERT, MODIFY or REMOVE, for a change
	ItemPK  string    `dynamodbav:"itempk,omitempty"` // key of the changed item, or of the derived item
	ItemSK  string    `dynamodbav:"itemsk,omitempty"`
	Changes int       `dynamodbav:"changes"` // number of changes not counted because of this
	At      time.Time `dynamodbav:"at"`      // when the change was committed
	Found   time.Time `dynamodbav:"found"`
}

// DeadLetters is the entity of dead letters.
var DeadLetters = table.Define[Dead, DeadKey]("fold.dead", table.Def[Dead]{
	PK: "FOLD#{fold}", SK: "DEAD#{seq}#{shard}#{part}", Access: table.Access{Fold: table.Rights{Puts: table.Whole}},
	Expires: func(d *Dead) time.Time { return d.Found.Add(keepDead) },
	Example: func(d *Dead) { d.Kind, d.Reason = "MODIFY", "the new image has no total" },
	Doc:     "A dead letter: a change that a fold could not apply, with the reason.",
})
