package blueprint

import (
	"math"
)

// Units are what one call of a pattern takes of capacity, by the rules of metering: a consistent read takes one unit for
// each begun 4 KB, an eventually consistent one half of it, a write one for each begun KB, and one more on each index that
// the item is on; a transaction takes double, but for indexes, which follow it.
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html
type Units struct {
	Read     float64 `json:"read"`
	Write    float64 `json:"write"`
	Requests int     `json:"requests"` // how many calls of the API it is
	Items    int     `json:"items"`
	Bytes    int     `json:"bytes"`
}

const (
	readUnitBytes  = 4 << 10
	writeUnitBytes = 1 << 10
	pageBytes      = 1 << 20 // that a Query reads at most
)

// ReadUnits is what reading so many bytes in one request takes, at least one begun unit.
func ReadUnits(bytes int, consistent bool) float64 {
	n := math.Max(1, math.Ceil(float64(bytes)/readUnitBytes))
	if consistent {
		return n
	}
	return n / 2
}

// WriteUnits is what writing one item of so many bytes takes.
func WriteUnits(bytes int) float64 { return math.Max(1, math.Ceil(float64(bytes)/writeUnitBytes)) }

// units are those of a pattern at its declared load. Without a load, sizes are those of the examples.
func (d *Design) units(p *Pattern) Units {
	u := Units{Requests: max(1, p.calls()), Items: max(1, p.Load.Items)}
	size := p.Load.ItemBytes
	if size == 0 {
		size = d.entity(p.Entity).ExampleBytes()
	}
	u.Bytes = u.Items * size
	switch p.Operation {
	case "Query":
		each := u.Bytes / u.Requests
		u.Read = float64(u.Requests) * ReadUnits(each, p.Consistent)
		if each > pageBytes {
			u.Requests = int(math.Ceil(float64(u.Bytes) / pageBytes))
		}
	case "GetItem":
		u.Read = ReadUnits(u.Bytes, p.Consistent)
	default:
		once := 1
		if p.Operation == "TransactWriteItems" {
			once = 2
		}
		u.Write = float64(u.Items) * WriteUnits(size) * float64(once+d.entity(p.Entity).indexed())
	}
	return u
}

// calls is how many requests the execution took.
func (p *Pattern) calls() int {
	if p.Execution == nil {
		return 0
	}
	return len(p.Execution.Calls)
}

// ExampleBytes is the size of the largest example.
func (e *Entity) ExampleBytes() int {
	most := 0
	for _, r := range e.Rows {
		most = max(most, r.Bytes)
	}
	return most
}

// indexed is on how many indexes an example is.
func (e *Entity) indexed() int {
	if len(e.Rows) == 0 {
		return 0
	}
	return indexed(e.Rows[0].Item)
}

// What a partition can take in a second, for ever.
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html
const (
	PartitionReads  = 3000 // units
	PartitionWrites = 1000 // units
)

// Heat is what the declared load does to the hottest key, if all calls went to one: the worst case.
type Heat struct {
	Reads  float64 `json:"readsPerSecond"`  // units
	Writes float64 `json:"writesPerSecond"` // units
	Share  float64 `json:"share"`           // of what a partition can take; above 1 it would be throttled
}

func (d *Design) heat(p *Pattern) Heat {
	spread := float64(max(1, p.Units.Requests))
	h := Heat{Reads: p.Units.Read / spread * p.Load.PerSecond, Writes: p.Units.Write / float64(1+d.entity(p.Entity).indexed()) * p.Load.PerSecond}
	h.Share = math.Max(h.Reads/PartitionReads, h.Writes/PartitionWrites)
	return h
}
