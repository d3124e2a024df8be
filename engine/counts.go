package engine

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/onefold/onefold/engine/internal/row"
)

// The number of a table's items and their bytes are kept in memory and noted now and then, and when the database is
// closed. While it is open, a mark on disk says that the notes lag. Whoever finds it when opening counts again.

// countKey is where a table's number of items and their bytes are noted, 8 bytes each.
func countKey(table uint32) []byte {
	return binary.BigEndian.AppendUint32([]byte{row.SpaceMeta, 'c'}, table)
}

// saveCounts notes the counts of all tables; final says that nothing will change them any more.
func (db *DB) saveCounts(final bool) (err error) {
	batch := db.store.NewBatch()
	defer func() { err = joinClose(err, batch) }()
	for _, t := range *db.tables.Load() {
		s := t.schema.Load()
		if s == nil {
			continue
		}
		v := binary.BigEndian.AppendUint64(nil, uint64(t.items.Load()))
		v = binary.BigEndian.AppendUint64(v, uint64(t.bytes.Load()))
		if err := batch.Set(countKey(s.desc.ID), v, nil); err != nil {
			return err
		}
	}
	if final && !db.counting.Load() {
		if err := batch.Delete(row.KeyOpen, nil); err != nil {
			return err
		}
	}
	return batch.Commit(pebble.NoSync)
}

func (db *DB) loadCounts() error {
	for _, t := range *db.tables.Load() {
		v, err := db.read(countKey(t.schema.Load().desc.ID))
		if err != nil {
			return err
		}
		if len(v) == 16 {
			t.items.Store(int64(binary.BigEndian.Uint64(v)))
			t.bytes.Store(int64(binary.BigEndian.Uint64(v[8:])))
		}
	}
	return nil
}

// markOpen marks the database as open, and counts again if it was so already.
func (db *DB) markOpen() error {
	mark, err := db.read(row.KeyOpen)
	if err != nil {
		return err
	}
	if mark == nil {
		return db.store.Set(row.KeyOpen, []byte{1}, pebble.NoSync)
	}
	db.counting.Store(true)
	db.work.Add(1)
	go func() {
		defer db.work.Done()
		for _, t := range *db.tables.Load() {
			if err := db.recount(t); err != nil {
				if !errors.Is(err, errStopped) {
					db.o.Logger.Error("engine: counting items stopped; it is tried again when the database is opened again", "error", err)
				}
				return
			}
		}
		db.counting.Store(false)
	}()
	return nil
}

// recount counts the items of a table as they are at one moment, between two writes, and adds to the counts what was
// missing from them then.
func (db *DB) recount(t *table) (err error) {
	t.gate.Lock()
	s, snap := t.schema.Load(), db.store.NewSnapshot()
	items, bytes := t.items.Load(), t.bytes.Load()
	t.gate.Unlock()
	defer func() { err = joinClose(err, snap) }()
	if s == nil {
		return nil
	}
	prefix := row.AppendItemPrefix(nil, s.desc.ID)
	it, err := snap.NewIter(&pebble.IterOptions{LowerBound: prefix, UpperBound: row.UpperBound(prefix)})
	if err != nil {
		return fmt.Errorf("engine: count items: %w", err)
	}
	defer func() { err = joinClose(err, it) }()
	var n, size int64
	for ok := it.First(); ok; ok = it.Next() {
		v, err := it.ValueAndErr()
		if err != nil {
			return err
		}
		n, size = n+1, size+int64(row.Size(v))
		if n%backfillChunk == 0 && db.ctx.Err() != nil {
			return errStopped
		}
	}
	if it.Error() == nil {
		t.items.Add(n - items)
		t.bytes.Add(size - bytes)
	}
	return it.Error()
}
