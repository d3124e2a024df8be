package engine

import (
	"sync"
	"sync/atomic"

	"github.com/onefold/onefold/engine/internal/capacity"
	"github.com/onefold/onefold/engine/internal/catalog"
	"github.com/onefold/onefold/engine/internal/layout"
)

// schema is everything that an operation needs to know of a table. It is immutable; a change
// publishes a new one.
type schema struct {
	*layout.Table
	desc   *catalog.Table
	table  *table
	stream *stream // nil when disabled
	arn    string
	counts []*tally // by index; schemas share the tally of an index
}

// table is one table. Writing operations hold gate for reading, so that a change of the schema can
// wait until all writers use the new one.
type table struct {
	gate   sync.RWMutex
	schema atomic.Pointer[schema]
	tally
	meter *capacity.Table
}

// tally is the number of items in a table or entries in an index, and their size by DynamoDB's
// rule.
type tally struct{ items, bytes atomic.Int64 }

func (n *tally) add(items, bytes int64) {
	if items != 0 {
		n.items.Add(items)
	}
	if bytes != 0 {
		n.bytes.Add(bytes)
	}
}

// counts returns the counts to report. A correction can make the internal counts negative for a while;
// these are reported as 0.
func (n *tally) counts() catalog.Counts {
	return catalog.Counts{Items: max(0, n.items.Load()), Bytes: max(0, n.bytes.Load())}
}

// newSchema prepares a descriptor for use.
func newSchema(t *table, d *catalog.Table, st *stream, arn string) *schema {
	s := &schema{Table: layout.New(d), desc: d, table: t, stream: st, arn: arn}
	for i := range d.Indexes {
		s.counts = append(s.counts, t.schema.Load().countsOf(d.Indexes[i].ID))
	}
	return s
}

// countsOf returns the tally of an index by ID, or a new one if the schema does not have it. s may
// be nil.
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

// tallies returns the tallies of the table and its indexes.
func (s *schema) tallies() []*tally { return append([]*tally{&s.table.tally}, s.counts...) }

// indexCounts returns the counts to report for the indexes.
func (s *schema) indexCounts() []catalog.Counts {
	held := make([]catalog.Counts, len(s.counts))
	for i, n := range s.counts {
		held[i] = n.counts()
	}
	return held
}
