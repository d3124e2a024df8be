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
	return &schema{Table: layout.New(d), desc: d, table: t, stream: st, arn: arn}
}
