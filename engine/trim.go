package engine

import (
	"context"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/onefold/onefold/engine/internal/catalog"
	"github.com/onefold/onefold/engine/internal/row"
	"github.com/onefold/onefold/engine/internal/store"
)

// TrimStreams deletes stream records older than the retention, closed shards without records, and
// disabled streams without shards.
func (db *DB) TrimStreams(ctx context.Context) error {
	call, err := db.begin(ctx)
	if err != nil {
		return err
	}
	defer call.End()
	db.control.Lock()
	defer db.control.Unlock()
	horizon := db.now().Add(-db.o.StreamRetention).UnixMilli()
	for _, st := range *db.streams.Load() {
		if err := db.trimStream(st, horizon); err != nil {
			return fmt.Errorf("engine: trim stream %d: %w", st.id, err)
		}
	}
	return nil
}

// trimStream trims one stream. The caller must hold control.
func (db *DB) trimStream(st *stream, horizon int64) error {
	firsts := map[uint32]uint64{}
	gone := map[uint32]bool{}
	batch := db.store.NewBatch()
	for _, sh := range st.desc.Load().Shards {
		first, stays, err := db.store.TrimPoint(st.id, sh.ID, sh.First, horizon)
		if err != nil {
			return joinClose(err, batch)
		}
		if sh.Closed && sh.Ended < horizon && !stays {
			gone[sh.ID] = true
		}
		if first == sh.First && !gone[sh.ID] {
			continue
		}
		firsts[sh.ID] = first
		var from, to [row.RecordKeyLen]byte
		row.PutRecordKey(from[:], st.id, sh.ID, 0)
		row.PutRecordKey(to[:], st.id, sh.ID, first)
		if err := batch.DeleteRange(from[:], to[:], nil); err != nil {
			return joinClose(err, batch)
		}
	}
	if len(firsts) == 0 {
		return joinClose(nil, batch)
	}
	return db.commitTrim(st, batch, firsts, gone)
}

// commitTrim writes the trimmed descriptor. It takes order, because a writer may roll a shard at
// the same time.
func (db *DB) commitTrim(st *stream, batch *pebble.Batch, firsts map[uint32]uint64, gone map[uint32]bool) error {
	db.order.Lock()
	defer db.order.Unlock()
	d := *st.desc.Load()
	d.Shards = slices.DeleteFunc(slices.Clone(d.Shards), func(sh catalog.Shard) bool { return gone[sh.ID] })
	for i := range d.Shards {
		if first, ok := firsts[d.Shards[i].ID]; ok {
			d.Shards[i].First = first
		}
	}
	ended := d.Disabled != 0 && len(d.Shards) == 0
	var err error
	if ended {
		err = batch.Delete(row.StreamKey(d.ID), nil)
	} else {
		err = putStream(batch, &d)
	}
	if err != nil {
		return joinClose(err, batch)
	}
	if err := joinClose(db.store.Commit(batch, store.Shrinkage, pebble.NoSync), batch); err != nil {
		return err
	}
	st.desc.Store(&d)
	if ended {
		db.dropStream(st.id)
	}
	return nil
}
