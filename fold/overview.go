package fold

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/onefold/onefold/fold/internal/watermark"
	"github.com/onefold/onefold/table"
)

// Overview is where a group of folds is, as far as the items in the table tell: whoever folds, wherever it runs.
type Overview struct {
	Group    string
	At       time.Time
	Shards   []ShardOverview // unfinished ones, by id
	Finished int             // shards that were folded to their end, of the last 90 days
	Owners   []string        // of the shards
	Misses   []Missed        // the open ones first, then the latest first
	Known    bool            // of every shard of the stream it is known how far it is folded
}

// ShardOverview is where a group is in one shard.
type ShardOverview struct {
	ID       string
	Owner    string   // who reads it; "" for nobody, or for workers that do not share
	Shared   bool     // it is or was read by workers that share the stream
	Ended    bool     // it is folded to its end, and not all shards that go on from it have a lease yet
	Silent   bool     // its owner has not been heard of for longer than its lease holds
	Position Sequence // durable up to here
	Missed   int      // how often changes were trimmed before they were read

	// Mark is the watermark: every change of the shard, and of those that go on from it, that was committed before is folded.
	// It is zero where that is not known: nothing tells of a shard that is not shared whether there is anything to fold.
	Mark time.Time
	Lag  time.Duration // the time since Mark: no change that is not folded is older. 0 where that is not known
	Age  time.Duration // since something was heard of the shard: a lease renewed, a checkpoint written
}

// Read returns the overview of a group.
func Read(ctx context.Context, t *table.Table, group string) (Overview, error) {
	o := Overview{Group: group, At: t.Now()}
	leases, err := collect(ctx, t, LeasesOf, group, func(l *Lease) string { return l.Shard })
	if err != nil {
		return o, err
	}
	checkpoints, err := collect(ctx, t, CheckpointsOf, group, func(c *Checkpoint) string { return c.Shard })
	if err != nil {
		return o, err
	}
	families := familiesOf(leases)
	o.Known = len(leases) > 0 && families[""].complete()
	shards := make(map[string]*ShardOverview)
	for id, c := range checkpoints {
		if c.Done {
			o.Finished++
		}
		if l, shared := leases[id]; !c.Done || shared && !families[l.Shard].complete() {
			shards[id] = &ShardOverview{ID: id, Position: Sequence(c.Position), Missed: c.Missed, Ended: c.Done, Age: max(o.At.Sub(c.At), 0)}
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
	owners := make(map[string]bool)
	for _, id := range slices.Sorted(maps.Keys(shards)) {
		s := shards[id]
		if s.Owner != "" && !s.Silent {
			owners[s.Owner] = true
		}
		o.Shards = append(o.Shards, *s)
	}
	o.Owners = slices.Sorted(maps.Keys(owners))
	o.Misses, err = missesOf(ctx, t, group)
	return o, err
}

// collect reads the items of a group, by shard.
func collect[T, K any](ctx context.Context, t *table.Table, of *table.Query[GroupIn, T, K], group string, shard func(*T) string) (map[string]T, error) {
	items := make(map[string]T)
	for it, err := range of.All(ctx, t, GroupIn{Group: group}) {
		if err != nil {
			return nil, fmt.Errorf("fold: overview of %s: %w", group, err)
		}
		items[shard(&it)] = it
	}
	return items, nil
}

// family is the shards that go on from one, or from none.
type family struct{ seen, siblings int }

// complete reports whether all of them have a lease. What is not read yet has none, and may have changes.
func (f family) complete() bool { return f.seen > 0 && f.seen >= f.siblings }

func familiesOf(leases map[string]Lease) map[string]family {
	of := make(map[string]family)
	for _, l := range leases {
		f := of[l.Parent]
		of[l.Parent] = family{f.seen + 1, max(f.siblings, l.Siblings)}
	}
	return of
}

// lease takes over what a lease says, and up to when the checkpoint says that all was read.
func (s *ShardOverview) lease(l *Lease, read, now time.Time) {
	s.Shared, s.Owner = true, l.Owner
	since := max(now.Sub(l.At), 0)
	s.Age = min(s.Age, since)
	s.Silent = since > l.holds(time.Minute)
	if s.Ended {
		s.Owner, s.Silent = "", false
	}
	if s.Mark = watermark.Latest(l.Mark, read); !s.Mark.IsZero() {
		s.Lag = watermark.Lag(s.Mark, now)
	}
}

func missesOf(ctx context.Context, t *table.Table, group string) ([]Missed, error) {
	misses, err := MissesOf.Collect(ctx, t, GroupIn{Group: group})
	if err != nil {
		return nil, fmt.Errorf("fold: overview of %s: %w", group, err)
	}
	slices.SortFunc(misses, func(a, b Missed) int {
		if open, other := a.Mended.IsZero(), b.Mended.IsZero(); open != other {
			if open {
				return -1
			}
			return 1
		}
		return cmp.Or(b.Found.Compare(a.Found), cmp.Compare(a.Shard, b.Shard))
	})
	return misses, nil
}

// Lag returns how old the oldest change is, at most, that is not folded, over all shards of which it is known.
func (o *Overview) Lag() (most time.Duration) {
	for i := range o.Shards {
		most = max(most, o.Shards[i].Lag)
	}
	return most
}

// OpenMisses returns how many misses were not mended yet.
func (o *Overview) OpenMisses() (n int) {
	for i := range o.Misses {
		if o.Misses[i].Mended.IsZero() {
			n++
		}
	}
	return n
}
