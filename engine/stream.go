package engine

import (
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/cockroachdb/pebble/v2"

	"github.com/onefold/onefold/engine/internal/catalog"
	"github.com/onefold/onefold/engine/internal/row"
)

// openShard is the shard that receives the next record of a slot.
type openShard struct {
	id    uint32
	count int
}

// stream is the change log of one table. Its descriptor is replaced and never modified, so that
// readers need no lock. The elements of open are guarded by DB.order; their number never changes.
type stream struct {
	desc atomic.Pointer[catalog.Stream]
	id   uint32
	view types.StreamViewType
	hash string
	rng  string
	open []openShard // by slot
}

func newStream(d *catalog.Stream) *stream {
	st := &stream{id: d.ID, view: d.View, hash: d.Hash.Name, rng: d.Range.Name}
	st.desc.Store(d)
	for _, sh := range d.Shards {
		if sh.Closed {
			continue
		}
		for len(st.open) <= sh.Slot {
			st.open = append(st.open, openShard{})
		}
		st.open[sh.Slot] = openShard{id: sh.ID}
	}
	return st
}

// slot returns the open shard for records of a partition, chosen by the hash at the start of the
// primary key bytes.
func (st *stream) slot(primary []byte) int {
	n := uint32(len(st.open))
	if n <= 1 {
		return 0
	}
	h := uint32(primary[0])<<24 | uint32(primary[1])<<16 | uint32(primary[2])<<8 | uint32(primary[3])
	return int(h % n)
}

// putStream adds a descriptor to a batch.
func putStream(b *pebble.Batch, d *catalog.Stream) error {
	v, err := d.Encode()
	if err != nil {
		return err
	}
	return b.Set(row.StreamKey(d.ID), v, nil)
}
