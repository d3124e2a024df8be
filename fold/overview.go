package fold

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/onefold/onefold/fold/internal/watermark"
	"github.com/onefold/onefold/fold/lease"
	"github.com/onefold/onefold/table"
)

// Overview is the progress of a group of folds as recorded in the table, no matter which workers
// fold.
type Overview struct {
	Group    string
	At       time.Time
	Shards   []ShardOverview // unfinished ones, by ID
	Finished int             // shards completely folded, of the last 90 days
	Owners   []string        // of the shards
	Idle     []string        // workers that have no shard: there are more workers than shards, or they have just started
	Gaps     []Gap           // open gaps first, then the latest
	Known    bool            // the progress in every shard of the stream is known
}

// ShardOverview is the progress of a group in one shard.
type ShardOverview struct {
	ID       string
	Owner    string   // the worker that reads it; "" for none, or for workers without leases
	Shared   bool     // it is or was read by workers with leases
	Ended    bool     // it is completely folded, but not every child shard has a lease yet
	Silent   bool     // its owner has not renewed the lease for longer than it lasts
	Position Sequence // durable up to here
	Gaps     int      // number of gaps

	// Mark is the watermark: all earlier changes of the shard and of its children are folded. It is
	// zero if unknown. For a shard without a lease, nothing shows whether it has changes to fold.
	Mark time.Time
	Lag  time.Duration // time since Mark, the maximum age of a change that is not folded; 0 if unknown
	Age  time.Duration // time since the last sign of progress: a renewed lease or a checkpoint
}

// Read returns the overview of a group.
func Read(ctx context.Context, t *table.Table, group string) (Overview, error) {
	o := Overview{Group: group, At: t.Now()}
	leases, err := lease.ReadAll(ctx, t, group)
	if err != nil {
		return o, fmt.Errorf("fold: overview of %s: %w", group, err)
	}
	checkpoints, err := checkpointsOf(ctx, t, group)
	if err != nil {
		return o, fmt.Errorf("fold: overview of %s: %w", group, err)
	}
	families := familiesOf(leases)
	o.Known = len(leases) > 0 && families[""].complete()
	shards := make(map[string]*ShardOverview)
	for id, c := range checkpoints {
		if c.Done {
			o.Finished++
		}
		if l, shared := leases[id]; !c.Done || shared && !families[l.Shard].complete() {
			shards[id] = &ShardOverview{ID: id, Position: Sequence(c.Position), Gaps: c.Gaps, Ended: c.Done, Age: max(o.At.Sub(c.At), 0)}
		}
	}
	for id, l := range leases {
		if c, exists := checkpoints[id]; !exists {
			shards[id] = &ShardOverview{ID: id, Age: max(o.At.Sub(l.At), 0)}
			shards[id].lease(&l, time.Time{}, o.At)
		} else if s := shards[id]; s != nil {
			s.lease(&l, c.readTo(), o.At)
		}
		if s := shards[id]; s != nil && s.Mark.IsZero() {
			o.Known = false
		}
	}
	for _, id := range slices.Sorted(maps.Keys(shards)) {
		o.Shards = append(o.Shards, *shards[id])
	}
	members, err := lease.Running(ctx, t, group)
	if err != nil {
		return o, fmt.Errorf("fold: overview of %s: %w", group, err)
	}
	o.workers(members)
	o.Gaps, err = gapsOf(ctx, t, group)
	return o, err
}

// workers sets which workers have shards, and which members have none.
func (o *Overview) workers(members []string) {
	owners := make(map[string]bool)
	for i := range o.Shards {
		if s := &o.Shards[i]; s.Owner != "" && !s.Silent {
			owners[s.Owner] = true
		}
	}
	o.Owners = slices.Sorted(maps.Keys(owners))
	o.Idle = slices.DeleteFunc(members, func(name string) bool { return owners[name] })
}

// checkpointsOf reads the checkpoints of a group into a map by shard ID.
func checkpointsOf(ctx context.Context, t *table.Table, group string) (map[string]Checkpoint, error) {
	found := make(map[string]Checkpoint)
	for c, err := range CheckpointsOf.All(ctx, t, GroupIn{Group: group}) {
		if err != nil {
			return nil, err
		}
		found[c.Shard] = c
	}
	return found, nil
}

// family counts the child shards of one parent, or the shards without a parent.
type family struct{ seen, siblings int }

// complete reports whether all of them have a lease. A shard that is not read yet has no lease, but
// may have changes.
func (f family) complete() bool { return f.seen > 0 && f.seen >= f.siblings }

func familiesOf(leases map[string]lease.Lease) map[string]family {
	of := make(map[string]family)
	for _, l := range leases {
		f := of[l.Parent]
		of[l.Parent] = family{f.seen + 1, max(f.siblings, l.Siblings)}
	}
	return of
}

// lease adds what a lease records. read is the time up to which the checkpoint covers all changes.
func (s *ShardOverview) lease(l *lease.Lease, read, now time.Time) {
	s.Shared, s.Owner = true, l.Owner
	since := max(now.Sub(l.At), 0)
	s.Age = min(s.Age, since)
	s.Silent = since > l.Duration(time.Minute)
	if s.Ended {
		s.Owner, s.Silent = "", false
	}
	if s.Mark = watermark.Latest(l.Mark, read); !s.Mark.IsZero() {
		s.Lag = watermark.Lag(s.Mark, now)
	}
}

func gapsOf(ctx context.Context, t *table.Table, group string) ([]Gap, error) {
	misses, err := GapsOf.Collect(ctx, t, GroupIn{Group: group})
	if err != nil {
		return nil, fmt.Errorf("fold: overview of %s: %w", group, err)
	}
	slices.SortFunc(misses, func(a, b Gap) int {
		if open, other := a.Repaired.IsZero(), b.Repaired.IsZero(); open != other {
			if open {
				return -1
			}
			return 1
		}
		return cmp.Or(b.Found.Compare(a.Found), cmp.Compare(a.Shard, b.Shard))
	})
	return misses, nil
}

// Lag returns the maximum lag of all shards for which it is known.
func (o *Overview) Lag() (most time.Duration) {
	for i := range o.Shards {
		most = max(most, o.Shards[i].Lag)
	}
	return most
}

// OpenGaps returns the number of gaps that are not repaired yet.
func (o *Overview) OpenGaps() (n int) {
	for i := range o.Gaps {
		if o.Gaps[i].Repaired.IsZero() {
			n++
		}
	}
	return n
}
