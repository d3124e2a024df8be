package capacity

import (
	"maps"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/onefold/onefold/engine/internal/catalog"
)

// TableUse is the capacity consumed by one table: in total, and by index, entity and partition key
// prefix. The prefixes add up to the table plus its indexes.
type TableUse struct {
	Use                           // of the table without its indexes
	Indexes  map[string]Use       // by name
	Entities map[string]EntityUse // by the sort key up to its first '#'; "" for other keys, and beyond 256 entities
	Prefixes map[string]Use       // by partition key prefix; writes include the cost of indexes
	Hottest  []KeyUse             // partition keys with the highest consumption in the last two minutes, busiest first; at most 16
}

// Use is consumed capacity and the number of operations. An item read by key, written or checked is
// one operation, as is a page of a Query or Scan. For an index, each change of an entry is a write.
type Use struct {
	ReadUnits  float64
	WriteUnits float64
	Reads      int64
	Writes     int64
}

// EntityUse is the cost of writes to one entity, including indexes.
type EntityUse struct {
	Writes     int64
	WriteUnits float64
}

const maxEntities = 256

// useMeter counts in half units, the smallest amount that DynamoDB bills.
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

// Table meters one table. Its maps are replaced and never modified, so that they can be read
// without a lock.
type Table struct {
	base   useMeter
	prefix func(partitionKey string) string
	heat   heat

	mu       sync.Mutex // held while a map is replaced
	indexes  atomic.Pointer[map[string]*useMeter]
	entities atomic.Pointer[map[string]*entityMeter]
	prefixes atomic.Pointer[map[string]*useMeter]
}

// NewTable returns a meter. prefix returns the prefix under which to count a partition key; nil
// means up to and including its first '#'.
func NewTable(prefix func(partitionKey string) string) *Table {
	m := &Table{prefix: prefix}
	m.indexes.Store(&map[string]*useMeter{})
	m.entities.Store(&map[string]*entityMeter{})
	m.prefixes.Store(&map[string]*useMeter{})
	return m
}

// index returns the meter of an index.
func (m *Table) index(name string) *useMeter {
	if c := (*m.indexes.Load())[name]; c != nil {
		return c
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return grow(&m.indexes, name)
}

// entity returns the meter of the entity named by a sort key.
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

// grow returns the meter under name, which it creates if necessary. The caller must hold Table.mu.
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

// Report returns the counts for a table. second is the current time in seconds since 1970.
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

// Count adds operations with their consumption of a table and its indexes.
func (m *Table) Count(d Direction, t *catalog.Table, at Access, times int64, u Usage) {
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

// CountEntry adds a write of an index entry to the heat of its partition. The sums already include
// it through Count.
func (m *Table) CountEntry(at Access, halves int64) { m.heat.count(Writing, at, halves) }

// CountEntity adds a write to the entity named by a sort key.
func (m *Table) CountEntity(sortKey string, u Usage) {
	e := m.entity(sortKey)
	e.writes.Add(1)
	e.halves.Add(u.Total())
}
