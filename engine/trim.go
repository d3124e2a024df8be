package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/onefold/onefold/engine/internal/catalog"
	"github.com/onefold/onefold/engine/internal/damage"
	"github.com/onefold/onefold/engine/internal/row"
)

// TrimStreams removes stream records older than the retention, closed shards that have none left, and disabled streams
// that have no shard left.
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

// trimStream trims one stream. The caller holds control.
func (db *DB) trimStream(st *stream, horizon int64) error {
	firsts := map[uint32]uint64{}
	gone := map[uint32]bool{}
	batch := db.store.NewBatch()
	for _, sh := range st.desc.Load().Shards {
		first, stays, err := db.trimPoint(st.id, sh, horizon)
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

// commitTrim writes the trimmed descriptor. It holds order, because a writer may roll a shard meanwhile.
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
	if err := joinClose(batch.Commit(pebble.NoSync), batch); err != nil {
		return err
	}
	st.desc.Store(&d)
	if ended {
		db.dropStream(st.id)
	}
	return nil
}

// trimPoint returns the sequence number behind the last record of a shard that is to go, and whether any record stays.
// Records are in the order of time, as far as the clock goes forward, so the place is found by halving.
func (db *DB) trimPoint(stream uint32, sh catalog.Shard, horizon int64) (first uint64, stays bool, err error) {
	prefix := row.ShardPrefix(stream, sh.ID)
	it, err := db.store.NewIter(&pebble.IterOptions{LowerBound: prefix, UpperBound: row.UpperBound(prefix)})
	if err != nil {
		return 0, false, err
	}
	defer func() { err = joinClose(err, it) }()
	if !it.Last() {
		return sh.First, false, damage.Of(it.Error())
	}
	low, high := sh.First, row.RecordSequence(it.Key())+1 // the first record to keep is at low or behind, and below or at high
	for low < high {
		mid := low + (high-low)/2
		millis, err := timeAt(it, stream, sh.ID, mid)
		if err != nil {
			return 0, false, err
		}
		if millis < horizon {
			low = row.RecordSequence(it.Key()) + 1
		} else {
			high = mid
		}
	}
	var key [row.RecordKeyLen]byte
	row.PutRecordKey(key[:], stream, sh.ID, low)
	if stays = it.SeekGE(key[:]); !stays && it.Error() != nil {
		return 0, false, damage.Of(it.Error())
	}
	if !it.SeekLT(key[:]) {
		return sh.First, stays, damage.Of(it.Error())
	}
	return row.RecordSequence(it.Key()) + 1, stays, nil
}

// timeAt moves to the record at or behind a sequence number, which there is, and returns when it was made.
func timeAt(it *pebble.Iterator, stream, shard uint32, seq uint64) (int64, error) {
	var key [row.RecordKeyLen]byte
	row.PutRecordKey(key[:], stream, shard, seq)
	if !it.SeekGE(key[:]) {
		return 0, cmp.Or(damage.Of(it.Error()), ErrCorrupt)
	}
	v, err := damage.Value(it)
	if err != nil {
		return 0, err
	}
	r, err := row.ParseRecord(v)
	return r.Millis, err
}
