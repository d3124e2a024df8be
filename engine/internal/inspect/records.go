package inspect

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/cespare/xxhash/v2"

	"github.com/onefold/onefold/engine/internal/catalog"
	"github.com/onefold/onefold/engine/internal/layout"
	"github.com/onefold/onefold/engine/internal/row"
)

// maxSeen is the number of items per slot that are compared with their last record, most recently
// changed first.
const maxSeen = 1 << 20

// maxSlots is greater than the number of slots of any stream.
const maxSlots = 1 << 16

// slotCheck checks the records of one slot, newest first.
type slotCheck struct {
	*checker
	d     *catalog.Stream
	t     *table // table to compare with; nil if the stream is no longer the table's
	slot  int
	slots int
	keys  *layout.Table
	shard catalog.Shard
	seen  map[uint64]struct{} // hashes of primary keys
}

func (c *checker) checkStreams() error {
	for _, d := range c.streams {
		if err := c.checkStream(d); err != nil {
			return err
		}
	}
	return nil
}

func (c *checker) checkStream(d *catalog.Stream) error {
	s := slotCheck{checker: c, d: d, keys: keysOf(d)}
	defer func() { c.at = nil }()
	for _, t := range c.tables {
		if t.Desc.Stream == d.ID {
			s.t, c.at = t, t
		}
	}
	for _, sh := range d.Shards {
		if s.slots = max(s.slots, sh.Slot+1); s.slots > maxSlots || sh.Slot < 0 {
			c.find(Catalog, nil, "", hex(row.StreamKey(d.ID)), "the stream %s/%s has a shard of slot %d, which cannot be", d.Table, d.Label, sh.Slot)
			return nil
		}
	}
	for s.slot = range s.slots {
		s.seen = map[uint64]struct{}{}
		before := c.losses
		for _, s.shard = range slices.Backward(d.Shards) {
			if s.shard.Slot != s.slot {
				continue
			}
			if c.losses > before {
				break // the last records of items may be those that cannot be read
			}
			prefix := row.ShardPrefix(d.ID, s.shard.ID)
			if err := c.eachBack(prefix, row.UpperBound(prefix), s.checkRecord); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *slotCheck) addFinding(kind Kind, key []byte, format string, args ...any) error {
	t := s.t
	if t == nil {
		t = &table{Table: s.keys}
	}
	s.find(kind, t, "", hex(key), format, args...)
	return nil
}

func (s *slotCheck) checkRecord(key, value []byte) error {
	s.sum.Records++
	if len(key) != row.RecordKeyLen {
		return s.addFinding(Unreadable, key, "the record's key cannot be read")
	}
	seq := row.RecordSequence(key)
	if seq < s.shard.First || s.shard.Closed && seq > s.shard.Last || seq >= s.nextSeq {
		return s.addFinding(StreamRange, key, "record %d is outside its shard (%d to %d) or above the numbers given out (%d): readers do not see it, or see two of one number",
			seq, s.shard.First, s.shard.Last, s.nextSeq)
	}
	r, err := row.ParseRecord(value)
	if err != nil || bits.OnesCount8(r.Flags&(row.Insert|row.Modify|row.Remove)) != 1 {
		return s.addFinding(Unreadable, key, "the record cannot be read: readers of the stream stop there (%v)", err)
	}
	if at := time.UnixMilli(r.Millis).UTC(); at.After(s.sum.Newest) {
		s.sum.Newest = at
	}
	primary, text := s.imagesOf(&r)
	if primary == nil {
		return s.addFinding(Unreadable, key, "the record's images %s: readers of the stream stop there", text)
	}
	if int(binary.BigEndian.Uint32(primary))%s.slots != s.slot {
		return s.addFinding(StreamRange, key, "the record of %s is in a shard of other keys: its order with the item's other records is lost", PrimaryText(primary))
	}
	return s.checkLast(&r, primary)
}

// imagesOf decodes the images of a record and returns their common primary key, or an error
// message.
func (s *slotCheck) imagesOf(r *row.Record) (primary []byte, wrong string) {
	for _, image := range [][]byte{r.Keys, r.Old, r.New} {
		if image == nil {
			continue
		}
		it, err := row.Decode(image)
		if err != nil {
			return nil, "cannot be read"
		}
		own, err := s.keys.AppendPrimary(nil, it)
		if err != nil || primary != nil && !bytes.Equal(own, primary) {
			return nil, "have no key, or two"
		}
		primary = own
	}
	return primary, "are missing"
}

// checkLast compares the last record of an item with the item.
func (s *slotCheck) checkLast(r *row.Record, primary []byte) error {
	hash := xxhash.Sum64(primary)
	if _, ok := s.seen[hash]; ok || s.t == nil || len(s.seen) >= maxSeen {
		return nil
	}
	s.seen[hash] = struct{}{}
	value, found, err := s.get(append(row.AppendItemPrefix(nil, s.t.Desc.ID), primary...))
	if err != nil {
		return err
	}
	switch {
	case found != (r.Flags&row.Remove == 0):
		s.find(StreamStale, s.t, "", PrimaryText(primary), "the last record says %s, and the item is there: %t; what is derived from the stream is wrong", r.EventName(), found)
	case r.New != nil && !bytes.Equal(r.New, value):
		s.find(StreamStale, s.t, "", PrimaryText(primary), "the item is not what its last record says; what is derived from the stream is wrong")
	case r.New == nil && found && (s.d.View == types.StreamViewTypeNewImage || s.d.View == types.StreamViewTypeNewAndOldImages):
		s.find(StreamStale, s.t, "", PrimaryText(primary), "the last record lacks the new image that its view promises")
	}
	return nil
}

// keysOf returns the table of a stream, with the keys from the stream's descriptor.
func keysOf(d *catalog.Stream) *layout.Table {
	return layout.New(&catalog.Table{Name: d.Table, Hash: d.Hash, Range: d.Range})
}
