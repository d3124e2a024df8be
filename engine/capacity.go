package engine

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Capacity is counted in halves of a unit: the half is what an eventually consistent read of 4 KB costs.
const (
	readUnitBytes  = 4 << 10
	writeUnitBytes = 1 << 10
)

// usage is the capacity that a request takes, in half units, apart for the table and for its indexes.
type usage struct {
	table   int64
	indexes []int64 // by ordinal; nil when there is none
}

func (u *usage) addIndex(ordinal int, halves int64) {
	if halves == 0 {
		return
	}
	for len(u.indexes) <= ordinal {
		u.indexes = append(u.indexes, 0)
	}
	u.indexes[ordinal] += halves
}

// add adds what another request or item has taken.
func (u *usage) add(o usage) {
	u.table += o.table
	for i, h := range o.indexes {
		u.addIndex(i, h)
	}
}

// total is the whole, in half units.
func (u *usage) total() int64 {
	sum := u.table
	for _, h := range u.indexes {
		sum += h
	}
	return sum
}

// writeUnits returns what writing an item of so many bytes costs: one unit for each begun KB, at least one.
func writeUnits(size int) int64 {
	return 2 * max(1, int64(size+writeUnitBytes-1)/writeUnitBytes)
}

// readUnits returns what reading so many bytes costs: for each begun 4 KB one unit, or half a unit when eventually
// consistent, at least for one.
func readUnits(size int, consistent bool) int64 {
	n := max(1, int64(size+readUnitBytes-1)/readUnitBytes)
	if consistent {
		return 2 * n
	}
	return n
}

// indexUnits returns what a change costs an index: nothing when its entry stays as it is, one write when it appears,
// goes or changes, and two when its key moves.
func indexUnits(was, is indexRow) int64 {
	switch {
	case was.key == nil && is.key == nil:
		return 0
	case was.key == nil:
		return writeUnits(rowSize(is.value))
	case is.key == nil:
		return writeUnits(rowSize(was.value))
	case string(was.key) != string(is.key):
		return writeUnits(rowSize(was.value)) + writeUnits(rowSize(is.value))
	case string(was.value) == string(is.value):
		return 0
	}
	return writeUnits(max(rowSize(was.value), rowSize(is.value)))
}

// direction says which of the two capacities a request takes.
type direction int

const (
	reading direction = iota
	writing
)

// meterUse adds to the table's meters.
func (s *schema) meterUse(d direction, u usage) {
	m := s.table.meter
	m.base.count(d, u.table)
	for i, h := range u.indexes {
		if h != 0 && i < len(s.indexes) {
			m.index(s.indexes[i].desc.Name).count(d, h)
		}
	}
}

func (m *useMeter) count(d direction, halves int64) {
	if d == reading {
		m.read.Add(halves)
	} else {
		m.write.Add(halves)
	}
}

// meterChange adds a change to the meters, also under its entity.
func (ch *change) meterChange() {
	ch.s.meterUse(writing, ch.use)
	e := ch.s.table.meter.entity(ch.sortKey())
	e.writes.Add(1)
	e.halves.Add(ch.use.total())
}

// sortKey returns the text of a sort key of type S, else nothing.
func (ch *change) sortKey() string {
	if s, ok := ch.keyed[ch.s.rng.Name].(*types.AttributeValueMemberS); ok {
		return s.Value
	}
	return ""
}

// consumed reports a usage as a response does; nil unless asked for.
func (s *schema) consumed(how types.ReturnConsumedCapacity, u usage) *types.ConsumedCapacity {
	if how == "" || how == types.ReturnConsumedCapacityNone {
		return nil
	}
	name := s.desc.Name
	cc := &types.ConsumedCapacity{TableName: &name, CapacityUnits: units(u.total())}
	if how != types.ReturnConsumedCapacityIndexes {
		return cc
	}
	cc.Table = &types.Capacity{CapacityUnits: units(u.table)}
	for i, h := range u.indexes {
		if h == 0 || i >= len(s.indexes) {
			continue
		}
		x := s.indexes[i].desc
		into := &cc.GlobalSecondaryIndexes
		if x.Local {
			into = &cc.LocalSecondaryIndexes
		}
		if *into == nil {
			*into = map[string]types.Capacity{}
		}
		(*into)[x.Name] = types.Capacity{CapacityUnits: units(h)}
	}
	return cc
}

// consumedTransaction is consumed for a transaction, which also says which of the two capacities it was.
func (s *schema) consumedTransaction(how types.ReturnConsumedCapacity, d direction, u usage) *types.ConsumedCapacity {
	cc := s.consumed(how, u)
	if cc == nil {
		return nil
	}
	mark := func(of *float64, read, write **float64) {
		if d == reading {
			*read = of
		} else {
			*write = of
		}
	}
	mark(cc.CapacityUnits, &cc.ReadCapacityUnits, &cc.WriteCapacityUnits)
	if cc.Table != nil {
		mark(cc.Table.CapacityUnits, &cc.Table.ReadCapacityUnits, &cc.Table.WriteCapacityUnits)
	}
	for _, m := range []map[string]types.Capacity{cc.GlobalSecondaryIndexes, cc.LocalSecondaryIndexes} {
		for name, c := range m {
			mark(c.CapacityUnits, &c.ReadCapacityUnits, &c.WriteCapacityUnits)
			m[name] = c
		}
	}
	return cc
}

func units(halves int64) *float64 {
	u := float64(halves) / 2
	return &u
}
