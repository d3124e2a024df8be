package capacity

import (
	"maps"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/onefold/onefold/engine/internal/catalog"
)

// TableUse is the capacity used by one table: in all, and apart by index, by entity and by partition key prefix. The
// prefixes add up to the table and its indexes together.
type TableUse struct {
	Use                           // of the table without its indexes
	Indexes  map[string]Use       // by name
	Entities map[string]EntityUse // by the sort key up to its first '#'; "" beyond 256 of them and for other keys
	Prefixes map[string]Use       // by partition key prefix, writes with what they cost the indexes
	Hottest  []KeyUse             // partition keys, those that took most in the last two minutes first; at most 16
}

// Use is capacity used, and by how many operations: an item read by key, written or checked is one each, and so is a
// page of a Query or Scan. An index is written as often as a change touches it.
type Use struct {
	ReadUnits  float64
	WriteUnits float64
	Reads      int64
	Writes     int64
}

// EntityUse is what the writes of one entity have cost, indexes included.
type EntityUse struct {
	Writes     int64
	WriteUnits float64
}

const maxEntities = 256

// useMeter counts in half units, the least that DynamoDB bills.
type useMeter struct{ halves, times [2]atomic.Int64 }

func (m *useMeter) count(d Direction, halves, times int64) {
	m.halves[d].Add(halves)
	m.times[d].Add(times)
}

func (m *useMeter) use() Use {
	return Use{
		ReadUnits: float64(m.halves[Reading].Load()) / 2, WriteUnits: float64(m.halves[Writing].Load()) / 2,
		Reads: m.times[Reading].Load(), Writes: m.times[Writing].Load(),
	}
}

// entityMeter counts the writes of one entity.
type entityMeter struct{ writes, halves atomic.Int64 }

// Table counts for one table. The maps are replaced, never changed.
type Table struct {
	base   useMeter
	prefix func(partitionKey string) string
	heat   heat

	mu       sync.Mutex // held to replace a map
	indexes  atomic.Pointer[map[string]*useMeter]
	entities atomic.Pointer[map[string]*entityMeter]
	prefixes atomic.Pointer[map[string]*useMeter]
}

// NewTable returns meters that have counted nothing. prefix is what a partition key is accounted under; nil: what stands
// up to and including its first '#'.
func NewTable(prefix func(partitionKey string) string) *Table {
	m := &Table{prefix: prefix}
	m.indexes.Store(&map[string]*useMeter{})
	m.entities.Store(&map[string]*entityMeter{})
	m.prefixes.Store(&map[string]*useMeter{})
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
	next[strings.Clone(name)] = c
	p.Store(&next)
	return c
}

// Report returns what was counted of a table; second is the time, in seconds since 1970.
func (m *Table) Report(t *catalog.Table, second int64) TableUse {
	u := TableUse{Use: m.base.use(), Indexes: map[string]Use{}, Entities: map[string]EntityUse{}, Prefixes: map[string]Use{}}
	for name, c := range *m.indexes.Load() {
		u.Indexes[name] = c.use()
	}
	for name, c := range *m.entities.Load() {
		u.Entities[name] = EntityUse{Writes: c.writes.Load(), WriteUnits: float64(c.halves.Load()) / 2}
	}
	for name, c := range *m.prefixes.Load() {
		u.Prefixes[name] = c.use()
	}
	u.Hottest = m.heat.hottest(t, second)
	return u
}

// Count adds what a number of operations have taken of a table and its indexes.
func (m *Table) Count(d Direction, t *catalog.Table, at Place, times int64, u Usage) {
	if u.Table != 0 {
		m.base.count(d, u.Table, times)
	}
	total := u.Table
	for i, h := range u.Indexes {
		if h != 0 && i < len(t.Indexes) {
			m.index(t.Indexes[i].Name).count(d, h, times)
			total += h
		}
	}
	m.countPrefix(d, at, times, total)
	m.heat.count(d, at, u.of(at.Index))
}

// CountEntry adds a write of an index entry to what its partition has taken. Count has it in the sums.
func (m *Table) CountEntry(at Place, halves int64) { m.heat.count(Writing, at, halves) }

// CountEntity adds a write to the entity that a sort key names.
func (m *Table) CountEntity(sortKey string, u Usage) {
	e := m.entity(sortKey)
	e.writes.Add(1)
	e.halves.Add(u.Total())
}
