// Package lease gives named work to one process of a table at a time: the shards of a stream to
// workers, and jobs to leaders.
//
// A lease is an item with an owner and a turn, which every write raises. Each write is conditional
// on the turn that its writer has read, so two processes never acquire the same lease. A lease
// avoids duplicate work. It is not a lock: a process that pauses for longer than the lease lasts
// goes on alongside its successor until it notices.
//
// Times written by others come from other clocks. So a lease counts as expired once its turn has
// stayed the same for the lease's duration, by the observer's own clock. An owner that paused for
// longer finds the turn changed when it continues. (Kinesis' client library uses the same method.)
package lease

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/onefold/onefold/table"
)

// Most is the longest duration of a lease, so that a misconfigured process cannot block a shard for
// longer.
const Most = time.Hour

// keep is how long a lease is kept after it has expired: longer than a stream lists a shard that
// has ended.
const keep = 48 * time.Hour

// Key identifies the lease of a stream shard or a job.
type Key struct {
	Group string `dynamodbav:"group"`
	Shard string `dynamodbav:"shard"` // of the stream, or the name of the job
}

// A Lease names the process that reads a shard, or does a job. The times in it come from the
// owner's clock and are only for display.
type Lease struct {
	Key
	Owner string        `dynamodbav:"by"`   // "" if it was released
	Turn  int64         `dynamodbav:"turn"` // increased by every write
	For   time.Duration `dynamodbav:"for"`  // duration without renewal, in nanoseconds
	At    time.Time     `dynamodbav:"at"`   // time of the last renewal, by the owner's clock
	Progress
}

// Progress is what the owner of a shard reports when it renews the lease.
type Progress struct {
	Mark     time.Time `dynamodbav:"mark,omitempty"`     // watermark: every change committed before is folded; zero if unknown
	Parent   string    `dynamodbav:"parent,omitempty"`   // the parent shard
	Siblings int       `dynamodbav:"siblings,omitempty"` // number of shards with the same parent, itself included; for shards without a parent, all of those
}

// Duration returns the duration of a lease, or otherwise if the stored value is out of range.
func (l *Lease) Duration(otherwise time.Duration) time.Duration { return duration(l.For, otherwise) }

func duration(stored, otherwise time.Duration) time.Duration {
	if stored <= 0 || stored > Most {
		return otherwise
	}
	return stored
}

// Leases is the entity of leases.
var Leases = table.Define[Lease, Key]("fold.lease", table.Def[Lease]{
	PK: "FOLD#{group}", SK: "LEASE#{shard}", Access: table.Access{Fold: table.Rights{Puts: table.Whole}},
	Expires: func(l *Lease) time.Time { return l.At.Add(l.For + keep) },
	Example: func(l *Lease) { l.Owner, l.For, l.Siblings = "worker-1", 30*time.Second, 4 },
	Doc:     "The worker that reads a stream shard.",
})

// In names a group of leases.
type In struct {
	Group string `dynamodbav:"group"`
}

// Of lists the leases of a group.
var Of = table.NewQuery(Leases, table.QueryDef[In]{
	ID: "F3", Question: "the leases of a group of folds", PK: "FOLD#{group}", Prefix: "LEASE#",
	Load: table.Load{PerSecond: 0.001, Items: 4, ItemBytes: 150},
})

// ReadAll returns the leases of a group by shard.
func ReadAll(ctx context.Context, t *table.Table, group string) (map[string]Lease, error) {
	held := make(map[string]Lease)
	for l, err := range Of.All(ctx, t, In{Group: group}) {
		if err != nil {
			return nil, fmt.Errorf("lease: read group %s: %w", group, err)
		}
		held[l.Shard] = l
	}
	return held, nil
}

// ErrName is returned for a name that cannot be part of a key.
var ErrName = errors.New("a name must not be empty or contain '#'")

// CheckName checks the name of a group, job or fold. Errors: ErrName.
func CheckName(what, name string) error {
	if name == "" || strings.Contains(name, "#") {
		return fmt.Errorf("%s %q: %w", what, name, ErrName)
	}
	return nil
}
