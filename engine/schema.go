package engine

import (
	"sync"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/engine/internal/capacity"
	"github.com/onefold/onefold/engine/internal/catalog"
	"github.com/onefold/onefold/engine/internal/item"
	"github.com/onefold/onefold/engine/internal/row"
)

// index is a secondary index ready for use.
type index struct {
	desc    catalog.Index
	hash    catalog.Key
	rng     catalog.Key
	prefix  []byte
	project map[string]bool // attributes in an entry; nil: all
	ordinal int             // position among the table's indexes
}

// schema is everything about a table that an operation needs. It is immutable: a change publishes a new one.
type schema struct {
	desc    *catalog.Table
	table   *table
	hash    catalog.Key
	rng     catalog.Key
	indexes []*index
	stream  *stream // nil when disabled
	arn     string
}

// table is one table. An operation holds gate for reading while it writes, so that whoever changes the schema can wait
// until all writers use the new one.
type table struct {
	gate   sync.RWMutex
	schema atomic.Pointer[schema]
	items  atomic.Int64 // number of items
	bytes  atomic.Int64 // their size by DynamoDB's rule
	meter  *capacity.Table
}

// newSchema prepares a descriptor for use.
func newSchema(t *table, d *catalog.Table, st *stream, arn string) *schema {
	s := &schema{desc: d, table: t, hash: d.Hash, rng: d.Range, stream: st, arn: arn}
	for i, x := range d.Indexes {
		s.indexes = append(s.indexes, newIndex(d, x, i))
	}
	return s
}

func newIndex(d *catalog.Table, x catalog.Index, ordinal int) *index {
	idx := &index{desc: x, hash: x.Hash, rng: x.Range, prefix: row.AppendIndexPrefix(nil, d.ID, x.ID), ordinal: ordinal}
	if x.Projection == types.ProjectionTypeAll {
		return idx
	}
	idx.project = map[string]bool{}
	for _, name := range x.Include {
		idx.project[name] = true
	}
	for _, a := range []catalog.Key{d.Hash, d.Range, x.Hash, x.Range} {
		if a.Name != "" {
			idx.project[a.Name] = true
		}
	}
	return idx
}

// covers reports whether an item has all keys of the index, so that the index has an entry for it.
func (x *index) covers(it item.Item) bool {
	if it == nil || it[x.hash.Name] == nil {
		return false
	}
	return x.rng.Name == "" || it[x.rng.Name] != nil
}

// entry returns what the index keeps of an item.
func (x *index) entry(it item.Item) item.Item {
	if x.project == nil {
		return it
	}
	e := make(item.Item, len(x.project))
	for name := range x.project {
		if v, ok := it[name]; ok {
			e[name] = v
		}
	}
	return e
}

// find returns an index by name.
func (s *schema) find(name string) *index {
	for _, x := range s.indexes {
		if x.desc.Name == name {
			return x
		}
	}
	return nil
}

// primaryKey returns the attributes of it that are the table's key.
func (s *schema) primaryKey(it item.Item) item.Item {
	k := item.Item{s.hash.Name: it[s.hash.Name]}
	if s.rng.Name != "" {
		k[s.rng.Name] = it[s.rng.Name]
	}
	return k
}
