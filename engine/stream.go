package engine

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/cockroachdb/pebble/v2"
)

// streamDesc is a stream as stored, in JSON, under its id.
type streamDesc struct {
	ID       uint32               `json:"id"`
	Table    string               `json:"table"`
	Label    string               `json:"label"`
	View     types.StreamViewType `json:"view"`
	Created  int64                `json:"created"`            // milliseconds since 1970
	Disabled int64                `json:"disabled,omitempty"` // likewise, 0 while enabled
	Hash     keyAttr              `json:"hash"`
	Range    keyAttr              `json:"range"`
	Shards   []shardDesc          `json:"shards"` // by id
	NextID   uint32               `json:"nextShard"`
}

// shardDesc is a shard as stored: the records First <= sequence number <= Last of its slot.
type shardDesc struct {
	ID           uint32 `json:"id"`
	Parent       uint32 `json:"parent,omitempty"` // 0 for none
	ParentOpened int64  `json:"parentOpened,omitempty"`
	Slot         int    `json:"slot"` // which part of the partition keys it covers
	First        uint64 `json:"first"`
	Last         uint64 `json:"last,omitempty"` // 0 while open
	Closed       bool   `json:"closed,omitempty"`
	Opened       int64  `json:"opened"` // milliseconds since 1970
	Ended        int64  `json:"ended,omitempty"`
}

// openShard is where the next record of a slot goes.
type openShard struct {
	id    uint32
	count int
}

// stream is a change log of one table. Its descriptor is replaced, never changed, so that readers need no lock. The
// elements of open belong to whoever holds DB.order; their number never changes.
type stream struct {
	desc atomic.Pointer[streamDesc]
	id   uint32
	view types.StreamViewType
	hash string
	rng  string
	open []openShard // by slot
}

func newStream(d *streamDesc) *stream {
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

// slot returns which of the open shards takes the records of a partition, from the hash that begins primary key bytes.
func (st *stream) slot(primary []byte) int {
	n := uint32(len(st.open))
	if n <= 1 {
		return 0
	}
	h := uint32(primary[0])<<24 | uint32(primary[1])<<16 | uint32(primary[2])<<8 | uint32(primary[3])
	return int(h % n)
}

// rolled returns the descriptor in which the open shard of a slot ends with the sequence number last and a child
// follows it.
func (d *streamDesc) rolled(slot int, last uint64, now int64) *streamDesc {
	c := *d
	c.Shards = slices.Clone(d.Shards)
	for i := range c.Shards {
		sh := &c.Shards[i]
		if sh.Slot != slot || sh.Closed {
			continue
		}
		sh.Closed, sh.Last, sh.Ended = true, last, now
		c.Shards = append(c.Shards, shardDesc{ID: c.NextID, Parent: sh.ID, ParentOpened: sh.Opened, Slot: slot, First: last + 1, Opened: now})
		c.NextID++
		break
	}
	return &c
}

// ended returns the descriptor of the stream once disabled: every shard is closed.
func (d *streamDesc) ended(last uint64, now int64) *streamDesc {
	c := *d
	c.Shards = slices.Clone(d.Shards)
	c.Disabled = now
	for i := range c.Shards {
		if sh := &c.Shards[i]; !sh.Closed {
			sh.Closed, sh.Last, sh.Ended = true, last, now
		}
	}
	return &c
}

// shard returns a shard by id.
func (d *streamDesc) shard(id uint32) (shardDesc, bool) {
	for _, sh := range d.Shards {
		if sh.ID == id {
			return sh, true
		}
	}
	return shardDesc{}, false
}

// put writes the descriptor into a batch.
func (d *streamDesc) put(b *pebble.Batch) error {
	v, err := json.Marshal(d)
	if err != nil {
		return fmt.Errorf("engine: encode stream %d: %w", d.ID, err)
	}
	return b.Set(streamKey(d.ID), v, nil)
}

func decodeStream(b []byte) (*streamDesc, error) {
	d := new(streamDesc)
	if err := json.Unmarshal(b, d); err != nil {
		return nil, fmt.Errorf("%w: stream descriptor: %w", ErrCorrupt, err)
	}
	return d, nil
}
