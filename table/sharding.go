package table

import (
	"fmt"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/onefold/onefold/table/internal/codec"
)

// MaxShards bounds how many partitions one owner's items are spread over: every read asks all of them.
const MaxShards = 256

// Sharding is the history of how many partitions an owner's items are spread over. It is kept as an attribute of the
// owner. An item's shard is a function of its id and of the number that held at the item's own time, so that a retry
// finds the same key whenever and wherever it runs; therefore steps are only ever added, at a later time. The zero
// value is one shard, for ever.
type Sharding []ShardStep

// ShardStep says that from a time on there are N shards.
type ShardStep struct {
	From time.Time `dynamodbav:"from,unixms"`
	N    int       `dynamodbav:"n"`
}

// Shards is a Sharding of n shards from 1970 on.
func Shards(n int) Sharding {
	return Sharding{{From: time.UnixMilli(0).UTC(), N: n}}
}

// At is the number of shards at a time: that of the last step at or before it; 1 before the first.
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

// Over is every shard number that an item with a time in [from, to) may have, from 0. A zero to is open.
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

// Then is the history with one more step: n shards from a time on. The time must be later than all steps, and should
// be later than any item that was written, which only the caller can know.
func (s Sharding) Then(from time.Time, n int) (Sharding, error) {
	from = from.UTC().Truncate(time.Millisecond)
	next := append(append(Sharding(nil), s...), ShardStep{From: from, N: n})
	return next, next.Validate()
}

// Validate checks the order of the steps and the bounds of their numbers: 1 to MaxShards.
func (s Sharding) Validate() error {
	for i, step := range s {
		if step.N < 1 || step.N > MaxShards {
			return fmt.Errorf("table: %d shards: 1 to %d are allowed", step.N, MaxShards)
		}
		if i > 0 && !step.From.After(s[i-1].From) {
			return fmt.Errorf("table: sharding from %s does not come after %s: a history is only added to",
				codec.FormatMS(step.From), codec.FormatMS(s[i-1].From))
		}
	}
	return nil
}

// Shard is the shard, from 0, of an id among n. It is part of stored keys and never changes.
func Shard(id string, n int) int {
	if n <= 1 {
		return 0
	}
	return int(xxhash.Sum64String(id) % uint64(n))
}
