package salvage

import (
	"bytes"
	"encoding/binary"

	"github.com/onefold/onefold/engine/internal/catalog"
	"github.com/onefold/onefold/engine/internal/layout"
	"github.com/onefold/onefold/engine/internal/row"
)

// restorer takes items that are lost from elsewhere: from an index that has all attributes, whose entries are written with the
// item, and from the records of the stream, of which the last one of an item says what it is.
type restorer struct {
	*rows
	gaps     []gap // of items
	restored int64
}

// lostItems are the gaps in which items of a table may be.
func lostItems(gaps []gap, t *layout.Table) (lost []gap) {
	prefix := row.AppendItemPrefix(nil, t.Desc.ID)
	for _, g := range gaps {
		if g.overlaps(prefix, row.UpperBound(prefix)) {
			lost = append(lost, g)
		}
	}
	return lost
}

func (r *restorer) isLost(key []byte) bool {
	for i := range r.gaps {
		if r.gaps[i].has(key) {
			return true
		}
	}
	return false
}

// table looks for the lost items of a table. stream may be nil.
func (r *restorer) table(t *layout.Table, stream *catalog.Stream) error {
	if len(r.gaps) == 0 {
		return nil
	}
	for _, x := range t.Indexes {
		if x.Project != nil {
			continue
		}
		err := r.each(x.Prefix, func(entry version) error {
			primary, ok := x.Primary(entry.key)
			if !ok {
				return nil
			}
			return r.offer(version{key: append(row.AppendItemPrefix(nil, t.Desc.ID), primary...), value: entry.value, seq: entry.seq})
		})
		if err != nil {
			return err
		}
	}
	if stream == nil {
		return nil
	}
	prefix := binary.BigEndian.AppendUint32([]byte{row.SpaceRecord}, stream.ID)
	return r.each(prefix, func(rec version) error { return r.record(t, rec) })
}

// offer takes what is told of an item in place of what is there, if it is lost and this is newer.
func (r *restorer) offer(v version) error {
	if !r.isLost(v.key) {
		return nil
	}
	there, found, err := r.get(v.key)
	if err != nil || !v.newerThan(there, found) {
		return err
	}
	r.restored++
	return r.note(v)
}

// record takes what a record of the stream tells. Records of an item follow one another, so the last one stays.
func (r *restorer) record(t *layout.Table, rec version) error {
	p, err := row.ParseRecord(rec.value)
	if err != nil {
		return nil // it is told when the records are written
	}
	gone := p.Flags&row.Remove != 0
	image := p.New
	if gone {
		image = p.Old
	}
	if image == nil && gone {
		image = p.Keys
	}
	if image == nil {
		return nil
	}
	it, err := row.Decode(image)
	if err != nil {
		return nil
	}
	key, err := t.AppendItemKey(nil, it)
	if err != nil {
		return nil
	}
	v := version{key: key, seq: rec.seq, deleted: gone}
	if !gone {
		v.value = bytes.Clone(p.New)
	}
	return r.offer(v)
}
