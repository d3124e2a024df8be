package visits

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/onefold/onefold/internal/varint"
)

// Depth is how deep a visitor saw a page in a day.
type Depth struct {
	Page    string
	Percent int64
}

// Depths are the greatest depth of each page, sorted by page; of the least MaxPages pages, as in List.
type Depths []Depth

// Find says where a page is, or would be.
func (ds Depths) Find(page string) (int, bool) {
	return slices.BinarySearchFunc(ds, page, func(d Depth, page string) int { return strings.Compare(d.Page, page) })
}

// Add notes a depth. The list itself may be shared.
func (ds *Depths) Add(d Depth) {
	i, found := ds.Find(d.Page)
	switch {
	case found && (*ds)[i].Percent >= d.Percent, !found && i >= MaxPages:
		return
	case found:
		*ds = slices.Clone(*ds)
		(*ds)[i] = d
	default:
		*ds = slices.Insert(slices.Clone(*ds), i, d)
		*ds = (*ds)[:min(len(*ds), MaxPages)]
	}
}

// Merge notes the depths of another part of the day.
func (ds *Depths) Merge(os Depths) {
	for _, o := range os {
		ds.Add(o)
	}
}

// Append appends the encoding of the depths to buf (docs/format/analytics.md): a uvarint, how many there are; then of each, sorted by
// page, uvarint length, bytes of the page, uvarint percent.
func (ds Depths) Append(buf []byte) []byte {
	buf = binary.AppendUvarint(buf, uint64(len(ds)))
	for _, d := range ds {
		buf = binary.AppendUvarint(buf, uint64(len(d.Page)))
		buf = append(buf, d.Page...)
		buf = binary.AppendUvarint(buf, uint64(d.Percent))
	}
	return buf
}

// ReadDepths reads what Append appended. What is malformed makes the reader fail.
func ReadDepths(r *varint.Reader) Depths {
	n := r.Count()
	if n == 0 {
		return nil
	}
	ds := make(Depths, n)
	for i := range ds {
		ds[i] = Depth{string(r.Bytes(r.Uint())), int64(r.Uint())}
	}
	return ds
}
