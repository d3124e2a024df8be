package visits

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/onefold/onefold/internal/varint"
)

// Depth is the maximum scroll depth of a page in a visitor's day, in percent.
type Depth struct {
	Page    string
	Percent int64
}

// Depths holds the maximum depth of each page, sorted by page. It is limited to the MaxPages pages
// that sort first, as in List.
type Depths []Depth

// Find returns the index of a page, or where to insert it.
func (ds Depths) Find(page string) (int, bool) {
	return slices.BinarySearchFunc(ds, page, func(d Depth, page string) int { return strings.Compare(d.Page, page) })
}

// Add adds a depth. It copies the list, which may be shared.
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

// Merge adds the depths of another part of the day.
func (ds *Depths) Merge(os Depths) {
	for _, o := range os {
		ds.Add(o)
	}
}

// Append appends the encoding of the depths to buf (docs/format/analytics.md): the number of depths
// as a uvarint, then for each, sorted by page, uvarint length and bytes of the page, uvarint
// percent.
func (ds Depths) Append(buf []byte) []byte {
	buf = binary.AppendUvarint(buf, uint64(len(ds)))
	for _, d := range ds {
		buf = binary.AppendUvarint(buf, uint64(len(d.Page)))
		buf = append(buf, d.Page...)
		buf = binary.AppendUvarint(buf, uint64(d.Percent))
	}
	return buf
}

// ReadDepths reads what Append appended. Malformed input makes the reader fail.
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
