package capacity

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/engine/internal/catalog"
	"github.com/onefold/onefold/engine/internal/row"
)

// Capacity is counted in half units, the cost of an eventually consistent read of 4 KB.
const (
	readUnitBytes  = 4 << 10
	writeUnitBytes = 1 << 10
)

// Usage is the capacity consumed by a request, in half units, for the table and each index.
type Usage struct {
	Table   int64
	Indexes []int64 // by ordinal; nil if there are none
}

// AddIndex adds half units to an index.
func (u *Usage) AddIndex(ordinal int, halves int64) {
	if halves == 0 {
		return
	}
	for len(u.Indexes) <= ordinal {
		u.Indexes = append(u.Indexes, 0)
	}
	u.Indexes[ordinal] += halves
}

// Add adds another usage.
func (u *Usage) Add(o Usage) {
	u.Table += o.Table
	for i, h := range o.Indexes {
		u.AddIndex(i, h)
	}
}

// of returns the usage of the table, for 0, or of the index with ordinal index-1.
func (u *Usage) of(index int) int64 {
	if index == 0 {
		return u.Table
	}
	if index > len(u.Indexes) {
		return 0
	}
	return u.Indexes[index-1]
}

// Total returns the sum in half units.
func (u *Usage) Total() int64 {
	sum := u.Table
	for _, h := range u.Indexes {
		sum += h
	}
	return sum
}

// WriteUnits returns the cost of writing an item of the given size, in half units: one unit for
// each started KB, at least one.
func WriteUnits(size int) int64 {
	return 2 * max(1, int64(size+writeUnitBytes-1)/writeUnitBytes)
}

// ReadUnits returns the cost of reading the given number of bytes, in half units: for each started
// 4 KB one unit, or half a unit if eventually consistent; at least that of 4 KB.
func ReadUnits(size int, consistent bool) int64 {
	n := max(1, int64(size+readUnitBytes-1)/readUnitBytes)
	if consistent {
		return 2 * n
	}
	return n
}

// Row is a row of an index. A nil Key means that there is none.
type Row struct{ Key, Value []byte }

// IndexUnits returns the cost of a change for an index, in half units: nothing if its entry is
// unchanged, one write if it is added, removed or modified, and two if its key changes.
func IndexUnits(was, is Row) int64 {
	switch {
	case was.Key == nil && is.Key == nil:
		return 0
	case was.Key == nil:
		return WriteUnits(row.Size(is.Value))
	case is.Key == nil:
		return WriteUnits(row.Size(was.Value))
	case string(was.Key) != string(is.Key):
		return WriteUnits(row.Size(was.Value)) + WriteUnits(row.Size(is.Value))
	case string(was.Value) == string(is.Value):
		return 0
	}
	return WriteUnits(max(row.Size(was.Value), row.Size(is.Value)))
}

// Direction distinguishes read and write capacity.
type Direction int

const (
	Reading Direction = iota
	Writing
)

// Consumed returns a Usage in the form of a response, or nil if it was not requested.
func Consumed(t *catalog.Table, how types.ReturnConsumedCapacity, u Usage) *types.ConsumedCapacity {
	if how == "" || how == types.ReturnConsumedCapacityNone {
		return nil
	}
	name := t.Name
	cc := &types.ConsumedCapacity{TableName: &name, CapacityUnits: units(u.Total())}
	if how != types.ReturnConsumedCapacityIndexes {
		return cc
	}
	cc.Table = &types.Capacity{CapacityUnits: units(u.Table)}
	for i, h := range u.Indexes {
		if h == 0 || i >= len(t.Indexes) {
			continue
		}
		x := t.Indexes[i]
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

// ConsumedTransaction is Consumed for a transaction, with read or write capacity according to d.
func ConsumedTransaction(t *catalog.Table, how types.ReturnConsumedCapacity, d Direction, u Usage) *types.ConsumedCapacity {
	cc := Consumed(t, how, u)
	if cc == nil {
		return nil
	}
	mark := func(of *float64, read, write **float64) {
		if d == Reading {
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
