package export

import (
	"maps"
	"slices"
	"time"

	"github.com/onefold/onefold/warehouse"
)

// batch holds what was read and is not committed yet.
type batch struct {
	ops       map[warehouse.Partition]map[warehouse.Key]*op
	drops     map[owner]bool                // owners whose deletion was read
	positions map[string]warehouse.Position // of shards that were read
	forget    []string
	missed    []warehouse.Gap
	rows      int
	records   int // number of records that were read, including those ignored
	skipped   int64
	opened    time.Time // when the first record came
}

func newBatch() *batch {
	return &batch{
		ops: map[warehouse.Partition]map[warehouse.Key]*op{}, drops: map[owner]bool{}, positions: map[string]warehouse.Position{},
	}
}

// put adds an op for a fact.
func (b *batch) put(at place, next *op) {
	facts := b.ops[at.part]
	if facts == nil {
		facts = map[warehouse.Key]*op{}
		b.ops[at.part] = facts
	}
	facts[at.key] = facts[at.key].then(next)
	b.rows += max(len(next.rows), 1)
}

// empty reports whether there is nothing to commit except progress.
func (b *batch) empty() bool { return len(b.ops)+len(b.drops) == 0 }

// partitions returns the partitions that have facts, in order.
func (b *batch) partitions() []warehouse.Partition {
	return slices.SortedFunc(maps.Keys(b.ops), warehouse.Partition.Compare)
}
