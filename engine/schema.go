package engine

import (
	"sync"
	"sync/atomic"

	"github.com/onefold/onefold/engine/internal/capacity"
	"github.com/onefold/onefold/engine/internal/catalog"
	"github.com/onefold/onefold/engine/internal/layout"
)

// schema is everything about a table that an operation needs. It is immutable: a change publishes a new one.
type schema struct {
	*layout.Table
	desc   *catalog.Table
	table  *table
	stream *stream // nil when disabled
	arn    string
	counts []*tally // of each index, the same for one index in all schemas that have it
}

// table is one table. An operation holds gate for reading while it writes, so that whoever changes the schema can wait
// until all writers use the new one.
type table struct {
	gate   sync.RWMutex
	schema atomic.Pointer[schema]
	tally
	meter *capacity.Table
}

// tally is how many items a table has, or entries an index, and their size by DynamoDB's rule.
type tally struct{ items, bytes atomic.Int64 }

func (n *tally) add(items, bytes int64) {
	if items != 0 {
		n.items.Add(items)
	}
	if bytes != 0 {
		n.bytes.Add(bytes)
	}
}

// held is what to tell of it. A count that lags can be below none for a while.
func (n *tally) held() catalog.Held {
	return catalog.Held{Items: max(0, n.items.Load()), Bytes: max(0, n.bytes.Load())}
}

// newSchema prepares a descriptor for use.
func newSchema(t *table, d *catalog.Table, st *stream, arn string) *schema {
	s := &schema{Table: layout.New(d), desc: d, table: t, stream: st, arn: arn}
	for i := range d.Indexes {
		s.counts = append(s.counts, t.schema.Load().countsOf(d.Indexes[i].ID))
	}
	return s
}

// countsOf returns the tally of the index with an id, a new one when the schema does not have it. s may be nil.
func (s *schema) countsOf(index uint32) *tally {
	if s != nil {
		for i := range s.desc.Indexes {
			if s.desc.Indexes[i].ID == index {
				return s.counts[i]
			}
		}
	}
	return new(tally)
}

// tallies returns those of the table and of each index.
func (s *schema) tallies() []*tally { return append([]*tally{&s.table.tally}, s.counts...) }

// tell returns what to tell of the indexes.
func (s *schema) tell() []catalog.Held {
	held := make([]catalog.Held, len(s.counts))
	for i, n := range s.counts {
		held[i] = n.held()
	}
	return held
}
