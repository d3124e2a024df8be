package salvage

import (
	"bytes"
	"encoding/binary"

	"github.com/onefold/onefold/engine/internal/catalog"
	"github.com/onefold/onefold/engine/internal/layout"
	"github.com/onefold/onefold/engine/internal/row"
)

// restorer restores lost items from an index that projects all attributes, whose entries are
// written together with items, and from stream records, the last of which contains the item's
// state.
type restorer struct {
	*rows
	gaps     []gap // in items
	restored int64
}

// lostItems returns the gaps that may contain items of a table.
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

// table restores the lost items of a table. stream may be nil.
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

// offer stores a version of an item if the item is in a gap and the version is newer than the
// stored one.
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

// record processes one stream record. Records of an item are in order, so the last one takes
// effect.
func (r *restorer) record(t *layout.Table, rec version) error {
	p, err := row.ParseRecord(rec.value)
	if err != nil {
		return nil // reported when the records are written
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
