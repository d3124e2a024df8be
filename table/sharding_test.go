package table

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestShardingFindsEverything checks that every item is found where Over looks, whatever the
// history, and that more steps move no existing item.
func TestShardingFindsEverything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s Sharding
		if rapid.Bool().Draw(t, "from the beginning") {
			s = Shards(rapid.IntRange(1, MaxShards).Draw(t, "n"))
		}
		at := time.UnixMilli(1e12)
		for range rapid.IntRange(0, 4).Draw(t, "steps") {
			at = at.Add(time.Duration(rapid.IntRange(1, 1000).Draw(t, "gap")) * time.Hour)
			next, err := s.Then(at, rapid.IntRange(1, MaxShards).Draw(t, "n"))
			if err != nil {
				t.Fatal(err)
			}
			before := at.Add(-time.Millisecond)
			if s.At(before) != next.At(before) {
				t.Fatalf("a step at %v changed the number before it", at)
			}
			s = next
		}
		from := time.UnixMilli(1e12).Add(time.Duration(rapid.IntRange(-10, 5000).Draw(t, "from")) * time.Hour)
		to := from.Add(time.Duration(rapid.IntRange(1, 5000).Draw(t, "for")) * time.Hour)
		item := from.Add(time.Duration(rapid.Int64Range(0, int64(to.Sub(from))-1).Draw(t, "item")))
		shard := Shard(rapid.String().Draw(t, "id"), s.At(item))
		if over := s.Over(from, to); shard < 0 || shard >= len(over) || over[shard] != shard {
			t.Fatalf("an item of %v is in shard %d, outside of %v", item, shard, over)
		}
		if over := s.Over(from, time.Time{}); shard >= len(over) {
			t.Fatalf("an item of %v is in shard %d, outside of %v", item, shard, over)
		}
	})
}

func TestShardingRefuses(t *testing.T) {
	s := Shards(4)
	later, err := s.Then(time.UnixMilli(1000), 8)
	if err != nil {
		t.Fatal(err)
	}
	for what, step := range map[string]ShardStep{
		"earlier": {time.UnixMilli(500), 2}, "same time": {time.UnixMilli(1000), 2},
		"none": {time.UnixMilli(2000), 0}, "too many": {time.UnixMilli(2000), MaxShards + 1},
	} {
		if _, err := later.Then(step.From, step.N); err == nil {
			t.Errorf("%s: no error", what)
		}
	}
	if len(s) != 1 || s.At(time.UnixMilli(5000)) != 4 {
		t.Errorf("the history that was extended became %v", s)
	}
}

// TestShardIsStable pins shard numbers. They are part of stored keys and must never change.
func TestShardIsStable(t *testing.T) {
	for id, want := range map[string]int{"": 9, "01HXQ5V7M3E8K2N4P6R8T0W2Y4": 2, "visitor-1": 13} {
		if got := Shard(id, 16); got != want {
			t.Errorf("Shard(%q, 16) = %d, want %d", id, got, want)
		}
	}
}
