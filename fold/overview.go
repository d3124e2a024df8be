package fold

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

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
}

// ShardOverview is where a group is in one shard.
type ShardOverview struct {
	ID       string
	Owner    string   // who reads it; "" for nobody, or for workers that do not share
	Shared   bool     // it is or was read by workers that share the stream
	Silent   bool     // its owner has not been heard of for longer than its lease holds
	Position Sequence // durable up to here
	Missed   int      // how often changes were trimmed before they were read

	// Lag is how old the oldest change is that is not folded, at most: what the owner told, and the time since then if nobody
	// reads the shard. It is 0 for a shard that is not shared: nothing tells whether there is anything to fold.
	Lag time.Duration
	Age time.Duration // since something was heard of the shard: a lease renewed, a checkpoint written
}

// Read returns the overview of a group.
func Read(ctx context.Context, t *table.Table, group string) (Overview, error) {
	o := Overview{Group: group, At: t.Now()}
	shards := make(map[string]*ShardOverview)
	heard := make(map[string]time.Time)
	done := make(map[string]bool)
	for c, err := range CheckpointsOf.All(ctx, t, GroupIn{Group: group}) {
		if err != nil {
			return o, fmt.Errorf("fold: overview of %s: %w", group, err)
		}
		if c.Done {
			o.Finished++
			done[c.Shard] = true
			continue
		}
		shards[c.Shard] = &ShardOverview{ID: c.Shard, Position: Sequence(c.Position), Missed: c.Missed}
		heard[c.Shard] = c.At
	}
	for l, err := range LeasesOf.All(ctx, t, GroupIn{Group: group}) {
		if err != nil {
			return o, fmt.Errorf("fold: overview of %s: %w", group, err)
		}
		if done[l.Shard] {
			continue
		}
		if shards[l.Shard] == nil {
			shards[l.Shard] = &ShardOverview{ID: l.Shard}
		}
		shards[l.Shard].lease(&l, o.At)
		heard[l.Shard] = latest(heard[l.Shard], l.At)
	}
	owners := make(map[string]bool)
	for _, id := range slices.Sorted(maps.Keys(shards)) {
		s := shards[id]
		if s.Age = max(o.At.Sub(heard[id]), 0); s.Owner != "" && !s.Silent {
			owners[s.Owner] = true
		}
		o.Shards = append(o.Shards, *s)
	}
	o.Owners = slices.Sorted(maps.Keys(owners))
	var err error
	o.Misses, err = missesOf(ctx, t, group)
	return o, err
}

// lease takes over what a lease says. A renewal is due after a third of the time that it holds.
func (s *ShardOverview) lease(l *Lease, now time.Time) {
	s.Shared, s.Owner = true, l.Owner
	since := max(now.Sub(l.At), 0)
	s.Silent = since > l.holds(time.Minute)
	s.Lag = max(l.Lag, l.Held)
	if s.Silent || s.Owner == "" || s.Lag > 0 {
		s.Lag += since
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

// Lag returns how old the oldest change is that is not folded, over all shards.
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
