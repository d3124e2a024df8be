package capacity

import (
	"maps"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/onefold/onefold/engine/internal/catalog"
)

// TableUse is the capacity used by one table, by its indexes and by the entities in it.
type TableUse struct {
	Use
	Indexes  map[string]Use
	Entities map[string]EntityUse // by the sort key up to its first '#'; "" beyond 256 of them and for other keys
}

// Use is capacity used.
type Use struct {
	ReadUnits  float64
	WriteUnits float64
}

// EntityUse is what the writes of one entity have cost, indexes included.
type EntityUse struct {
	Writes     int64
	WriteUnits float64
}

const maxEntities = 256

// useMeter counts in half units, the least that DynamoDB bills.
type useMeter struct{ read, write atomic.Int64 }

func (m *useMeter) use() Use {
	return Use{ReadUnits: float64(m.read.Load()) / 2, WriteUnits: float64(m.write.Load()) / 2}
}

// entityMeter counts the writes of one entity.
type entityMeter struct{ writes, halves atomic.Int64 }

// Table counts for one table. The maps are replaced, never changed.
type Table struct {
	base useMeter

	mu       sync.Mutex // held to replace a map
	indexes  atomic.Pointer[map[string]*useMeter]
	entities atomic.Pointer[map[string]*entityMeter]
}

// NewTable returns meters that have counted nothing.
func NewTable() *Table {
	m := new(Table)
	m.indexes.Store(&map[string]*useMeter{})
	m.entities.Store(&map[string]*entityMeter{})
	return m
}

// index returns the counter of an index.
func (m *Table) index(name string) *useMeter {
	if c := (*m.indexes.Load())[name]; c != nil {
		return c
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return grow(&m.indexes, name)
}

// entity returns the counter of the entity that a sort key names.
func (m *Table) entity(sortKey string) *entityMeter {
	word, _, _ := strings.Cut(sortKey, "#")
	if c := (*m.entities.Load())[word]; c != nil {
		return c
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(*m.entities.Load()) >= maxEntities-1 {
		word = ""
	}
	return grow(&m.entities, word)
}

// grow returns the counter under name, new if need be. The caller holds Table.mu.
func grow[C any](p *atomic.Pointer[map[string]*C], name string) *C {
	if c := (*p.Load())[name]; c != nil {
		return c
	}
	next := maps.Clone(*p.Load())
	c := new(C)
	next[name] = c
	p.Store(&next)
	return c
}

// Report returns what was counted.
func (m *Table) Report() TableUse {
	u := TableUse{Use: m.base.use(), Indexes: map[string]Use{}, Entities: map[string]EntityUse{}}
	for name, c := range *m.indexes.Load() {
		u.Indexes[name] = c.use()
	}
	for name, c := range *m.entities.Load() {
		u.Entities[name] = EntityUse{Writes: c.writes.Load(), WriteUnits: float64(c.halves.Load()) / 2}
	}
	return u
}

// Count adds what a request has taken of a table and its indexes.
func (m *Table) Count(d Direction, t *catalog.Table, u Usage) {
	m.base.count(d, u.Table)
	for i, h := range u.Indexes {
		if h != 0 && i < len(t.Indexes) {
			m.index(t.Indexes[i].Name).count(d, h)
		}
	}
}

// CountEntity adds a write to the entity that a sort key names.
func (m *Table) CountEntity(sortKey string, u Usage) {
	e := m.entity(sortKey)
	e.writes.Add(1)
	e.halves.Add(u.Total())
}
