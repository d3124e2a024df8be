package engine

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/onefold/onefold/engine/internal/capacity"
	"github.com/onefold/onefold/engine/internal/catalog"
	"github.com/onefold/onefold/engine/internal/damage"
	"github.com/onefold/onefold/engine/internal/item"
	"github.com/onefold/onefold/engine/internal/row"
	"github.com/onefold/onefold/engine/internal/store"
)

// The counts of items and index entries and their sizes are kept in memory. They are saved
// periodically and when the database is closed. While it is open, a mark on disk shows that the
// saved counts are outdated: if the mark is found when opening, everything is counted again. An
// entry of a delayed global index is counted with its item's commit.

// entryChange is the effect of a commit on the entries of an index.
type entryChange struct {
	of           *tally
	items, bytes int64
}

// noteEntry records the change of one entry.
func (c *commit) noteEntry(of *tally, was, is capacity.Row) {
	e := entryChange{of: of}
	if was.Key != nil {
		e.items, e.bytes = -1, -int64(row.Size(was.Value))
	}
	if is.Key != nil {
		e.items, e.bytes = e.items+1, e.bytes+int64(row.Size(is.Value))
	}
	if e.items != 0 || e.bytes != 0 {
		c.entries = append(c.entries, e)
	}
}

// applyCounts adds the changes of the commit to the counts.
func (c *commit) applyCounts() {
	for i := range c.changes {
		ch, n := &c.changes[i], int64(0)
		switch {
		case ch.old == nil && ch.row != nil:
			n = 1
		case ch.old != nil && ch.row == nil:
			n = -1
		}
		ch.s.table.add(n, int64(row.Size(ch.row)-row.Size(ch.old)))
	}
	for _, e := range c.entries {
		e.of.add(e.items, e.bytes)
	}
}

// Keys of saved counts, by table.
const (
	countItems   = 'c' // items and bytes, 8 bytes each
	countEntries = 'e' // the same, followed for each index by its ID (4 bytes), entries and bytes
	countLen     = 8 + 8
)

func countKey(of byte, table uint32) []byte {
	return binary.BigEndian.AppendUint32([]byte{row.SpaceMeta, of}, table)
}

func (n *tally) append(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint64(dst, uint64(n.items.Load()))
	return binary.BigEndian.AppendUint64(dst, uint64(n.bytes.Load()))
}

func (n *tally) load(b []byte) {
	n.items.Store(int64(binary.BigEndian.Uint64(b)))
	n.bytes.Store(int64(binary.BigEndian.Uint64(b[8:])))
}

// saveCounts saves the counts of all tables. final means that nothing will change them any more.
func (db *DB) saveCounts(final bool) (err error) {
	batch := db.store.NewBatch()
	defer func() { err = joinClose(err, batch) }()
	for _, t := range *db.tables.Load() {
		s := t.schema.Load()
		if s == nil {
			continue
		}
		v := t.append(nil)
		if err := batch.Set(countKey(countItems, s.desc.ID), v, nil); err != nil {
			return err
		}
		for i, n := range s.counts {
			v = n.append(binary.BigEndian.AppendUint32(v, s.desc.Indexes[i].ID))
		}
		if err := batch.Set(countKey(countEntries, s.desc.ID), v, nil); err != nil {
			return err
		}
	}
	if final && !db.counting.Load() {
		if err := batch.Delete(row.KeyOpen, nil); err != nil {
			return err
		}
	}
	return db.store.Commit(batch, store.Shrinkage, pebble.NoSync)
}

// loadCounts loads the saved counts and reports whether they are complete. Saved counts of entries
// are outdated if their count of items differs from the other one: an older version, which knows
// only items, has then used the database.
func (db *DB) loadCounts() (complete bool, err error) {
	complete = true
	for _, t := range *db.tables.Load() {
		s := t.schema.Load()
		v, err := db.store.Read(countKey(countItems, s.desc.ID))
		if err != nil {
			return false, err
		}
		if len(v) == countLen {
			t.load(v)
		}
		entries, err := db.store.Read(countKey(countEntries, s.desc.ID))
		if err != nil {
			return false, err
		}
		if rest, ok := bytes.CutPrefix(entries, v); ok && len(v) == countLen {
			complete = s.loadEntries(rest) && complete
		} else {
			complete = false
		}
	}
	return complete, nil
}

// loadEntries loads the saved counts of the indexes and reports whether they are complete.
func (s *schema) loadEntries(b []byte) bool {
	const idLen = 4
	noted := 0
	for ; len(b) >= idLen+countLen; b = b[idLen+countLen:] {
		for i := range s.desc.Indexes {
			if s.desc.Indexes[i].ID == binary.BigEndian.Uint32(b) {
				s.counts[i].load(b[idLen:])
				noted++
			}
		}
	}
	return noted == len(s.counts)
}

// markOpen marks the database as open. It starts a recount if it was marked already, or if counts
// are missing.
func (db *DB) markOpen() error {
	complete, err := db.loadCounts()
	if err != nil {
		return err
	}
	mark, err := db.store.Read(row.KeyOpen)
	if err != nil {
		return err
	}
	if mark == nil {
		if err := db.store.Set(row.KeyOpen, []byte{1}, pebble.NoSync); err != nil || complete {
			return err
		}
	}
	db.counting.Store(true)
	db.work.Add(1)
	go func() {
		defer db.work.Done()
		for _, t := range *db.tables.Load() {
			if err := db.recount(t); err != nil {
				if !errors.Is(err, errStopped) {
					db.o.Logger.Error("engine: counting items stopped; it continues when the database is opened again", "error", err)
				}
				return
			}
		}
		db.counting.Store(false)
	}()
	return nil
}

// recount counts the items of a table and its index entries in a snapshot taken between two writes.
// It adds the difference from the counts of that moment to the current counts.
func (db *DB) recount(t *table) (err error) {
	db.recounts.Lock()
	defer db.recounts.Unlock()
	t.gate.Lock()
	s, snap := t.schema.Load(), db.store.NewSnapshot()
	var counted []catalog.Counts
	if s != nil {
		for _, n := range s.tallies() {
			counted = append(counted, catalog.Counts{Items: n.items.Load(), Bytes: n.bytes.Load()})
		}
	}
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
	is := make([]catalog.Counts, len(counted))
	for ok := it.First(); ok; ok = it.Next() {
		v, err := damage.Value(it)
		if err == nil {
			err = s.addTo(is, v)
		}
		if err != nil {
			return err
		}
		if is[0].Items%backfillChunk == 0 && db.ctx.Err() != nil {
			return errStopped
		}
	}
	if damage.Of(it.Error()) == nil {
		for i, n := range s.tallies() {
			n.add(is[i].Items-counted[i].Items, is[i].Bytes-counted[i].Bytes)
		}
	}
	return damage.Of(it.Error())
}

// addTo adds the item of a row, and its index entries, to the counts of the table and its indexes.
func (s *schema) addTo(counts []catalog.Counts, v []byte) error {
	size := int64(row.Size(v))
	counts[0].Items, counts[0].Bytes = counts[0].Items+1, counts[0].Bytes+size
	if len(s.Indexes) == 0 {
		return nil
	}
	it, err := row.Decode(v)
	if err != nil {
		return err
	}
	for i, x := range s.Indexes {
		if !x.Covers(it) {
			continue
		}
		n := &counts[1+i]
		n.Items++
		if x.Project == nil {
			n.Bytes += size
		} else {
			n.Bytes += int64(item.Size(x.Entry(it)))
		}
	}
	return nil
}
