package blueprint

import (
	"math"
)

// Units are the capacity units of one call of a pattern. A consistent read costs one unit per
// started 4 KB, an eventually consistent one half of that. A write costs one unit per started KB,
// and one more for each index that contains the item. A transaction costs double, except for
// indexes, which are updated afterwards.
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html
type Units struct {
	Read     float64 `json:"read"`
	Write    float64 `json:"write"`
	Requests int     `json:"requests"` // number of API calls
	Items    int     `json:"items"`
	Bytes    int     `json:"bytes"`
}

const (
	readUnitBytes  = 4 << 10
	writeUnitBytes = 1 << 10
	pageBytes      = 1 << 20 // maximum bytes that one Query reads
)

// ReadUnits returns the cost of reading the given number of bytes in one request, at least that of
// one started unit.
func ReadUnits(bytes int, consistent bool) float64 {
	n := math.Max(1, math.Ceil(float64(bytes)/readUnitBytes))
	if consistent {
		return n
	}
	return n / 2
}

// WriteUnits returns the cost of writing one item of the given size.
func WriteUnits(bytes int) float64 { return math.Max(1, math.Ceil(float64(bytes)/writeUnitBytes)) }

// units returns the units of a pattern at its declared load. Without a load, it uses the sizes of
// the examples.
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

// calls returns the number of requests of the execution.
func (p *Pattern) calls() int {
	if p.Execution == nil {
		return 0
	}
	return len(p.Execution.Calls)
}

// ExampleBytes returns the size of the largest example.
func (e *Entity) ExampleBytes() int {
	most := 0
	for _, r := range e.Rows {
		most = max(most, r.Bytes)
	}
	return most
}

// indexed returns the number of indexes that contain an example.
func (e *Entity) indexed() int {
	if len(e.Rows) == 0 {
		return 0
	}
	return indexed(e.Rows[0].Item)
}

// Sustained capacity of a partition per second.
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html
const (
	PartitionReads  = 3000 // units
	PartitionWrites = 1000 // units
)

// Heat is the effect of the declared load on the hottest key in the worst case, in which all calls
// use the same key.
type Heat struct {
	Reads  float64 `json:"readsPerSecond"`  // units
	Writes float64 `json:"writesPerSecond"` // units
	Share  float64 `json:"share"`           // of a partition's capacity; above 1 requests would be throttled
}

func (d *Design) heat(p *Pattern) Heat {
	spread := float64(max(1, p.Units.Requests))
	h := Heat{Reads: p.Units.Read / spread * p.Load.PerSecond, Writes: p.Units.Write / float64(1+d.entity(p.Entity).indexed()) * p.Load.PerSecond}
	h.Share = math.Max(h.Reads/PartitionReads, h.Writes/PartitionWrites)
	return h
}
