package table

import (
	"fmt"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/onefold/onefold/table/internal/codec"
)

// MaxShards limits the number of partitions for the items of one owner, because every read queries
// all of them.
const MaxShards = 256

// Sharding is the history of the number of shards over which an owner's items are spread. It is
// stored as an attribute of the owner. The shard of an item depends only on what names it and on
// the number of shards at the item's own time, so that a retry finds the same key whenever it runs. Therefore steps may only be added, with later times. The zero value means one shard
// forever.
type Sharding []ShardStep

// ShardStep sets the number of shards from a time on.
type ShardStep struct {
	From time.Time `dynamodbav:"from,unixms"`
	N    int       `dynamodbav:"n"`
}

// Shards returns a Sharding with n shards since 1970.
func Shards(n int) Sharding {
	return Sharding{{From: time.UnixMilli(0).UTC(), N: n}}
}

// At returns the number of shards at a time: that of the last step at or before it, or 1 before the
// first step.
func (s Sharding) At(t time.Time) int {
	n := 1
	for _, step := range s {
		if step.From.After(t) {
			break
		}
		n = step.N
	}
	return max(n, 1)
}

// Over returns all shard numbers, from 0, that an item with a time in [from, to) may have. A zero
// to means no end.
func (s Sharding) Over(from, to time.Time) []int {
	most := s.At(from)
	for _, step := range s {
		if step.From.After(from) && (to.IsZero() || step.From.Before(to)) {
			most = max(most, step.N)
		}
	}
	shards := make([]int, most)
	for i := range shards {
		shards[i] = i
	}
	return shards
}

// Then returns the history with one more step: n shards from a time on. The time must be later than
// all steps. It should also be later than the time of any item written so far, which only the
// caller can know.
func (s Sharding) Then(from time.Time, n int) (Sharding, error) {
	from = from.UTC().Truncate(time.Millisecond)
	next := append(append(Sharding(nil), s...), ShardStep{From: from, N: n})
	return next, next.Validate()
}

// Validate checks that steps are in order and their numbers are from 1 to MaxShards.
func (s Sharding) Validate() error {
	for i, step := range s {
		if step.N < 1 || step.N > MaxShards {
			return fmt.Errorf("table: %d shards: use 1 to %d", step.N, MaxShards)
		}
		if i > 0 && !step.From.After(s[i-1].From) {
			return fmt.Errorf("table: sharding from %s is not after %s: a history can only be extended",
				codec.FormatMS(step.From), codec.FormatMS(s[i-1].From))
		}
	}
	return nil
}

// Shard returns the shard, from 0, of an ID among n shards. The function is part of stored keys and
// must never change.
func Shard(id string, n int) int {
	if n <= 1 {
		return 0
	}
	return int(xxhash.Sum64String(id) % uint64(n))
}
