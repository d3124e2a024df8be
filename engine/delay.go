package engine

import (
	"fmt"
	"math"
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"github.com/onefold/onefold/engine/internal/capacity"
	"github.com/onefold/onefold/engine/internal/damage"
	"github.com/onefold/onefold/engine/internal/row"
	"github.com/onefold/onefold/engine/internal/store"
)

// With Options.IndexDelay, a write stores its changes of global indexes as postponed rows in its
// own commit. A read of a global index first applies the rows that are due, so that an index always
// shows the state of some moment. Changes of an item are numbered while its stripe is held, and so
// applied in commit order. Opening a database applies all of them, which allows their numbers to
// start again.

// delayQueue assigns times and numbers to postponed rows.
type delayQueue struct {
	mu     sync.Mutex
	due    int64 // due time of the last one, in milliseconds since 1970
	number uint64
}

// next returns the due time of a change, which never decreases, and its number.
func (p *delayQueue) next(due int64) (int64, uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.due = max(p.due, due)
	p.number++
	return p.due, p.number
}

// postpone stores the change of one entry of a global index.
func (c *commit) postpone(was, is capacity.Row) error {
	p := row.Postponed{Key: is.Key, Value: is.Value}
	if string(was.Key) != string(is.Key) {
		p.Gone = was.Key
	} else if string(was.Value) == string(is.Value) {
		return nil
	}
	due, number := c.db.postponed.next(c.now + c.db.o.IndexDelay.Milliseconds())
	at := len(c.buf)
	c.buf = row.AppendPostponedKey(c.buf, due, number)
	key := c.buf[at:len(c.buf):len(c.buf)]
	at = len(c.buf)
	c.buf = p.Append(c.buf)
	return c.batch.Set(key, c.buf[at:len(c.buf):len(c.buf)], nil)
}

// postponedChunk is the number of changes applied in one commit.
const postponedChunk = 1024

// applyPostponed applies the changes that are due at a time, in milliseconds since 1970.
func (db *DB) applyPostponed(now int64) error {
	db.control.Lock()
	defer db.control.Unlock()
	live := map[[2]uint32]bool{}
	for _, t := range *db.tables.Load() {
		for _, x := range t.schema.Load().Indexes {
			live[[2]uint32{t.schema.Load().desc.ID, x.Desc.ID}] = true
		}
	}
	for {
		n, err := db.applyChunk(now, live)
		if err != nil {
			return fmt.Errorf("engine: apply postponed index entries: %w", err)
		}
		if n < postponedChunk {
			return nil
		}
	}
}

// applyChunk applies a chunk of changes and returns their number. It drops entries of deleted
// indexes.
func (db *DB) applyChunk(now int64, live map[[2]uint32]bool) (n int, err error) {
	upper := []byte{row.SpacePostponed + 1}
	if now < math.MaxInt64 {
		upper = row.AppendPostponedKey(nil, now+1, 0)
	}
	it, err := db.store.NewIter(&pebble.IterOptions{LowerBound: []byte{row.SpacePostponed}, UpperBound: upper})
	if err != nil {
		return 0, err
	}
	defer func() { err = joinClose(err, it) }()
	batch := db.store.NewBatch()
	defer func() { err = joinClose(err, batch) }()
	for ok := it.First(); ok && n < postponedChunk; ok = it.Next() {
		v, err := damage.Value(it)
		if err != nil {
			return n, err
		}
		p, err := row.ParsePostponed(v)
		if err != nil {
			return n, err
		}
		if err := stagePostponed(batch, p, live); err != nil {
			return n, err
		}
		if err := batch.Delete(it.Key(), nil); err != nil {
			return n, err
		}
		n++
	}
	if n == 0 || damage.Of(it.Error()) != nil {
		return n, damage.Of(it.Error())
	}
	return n, db.store.Commit(batch, store.Shrinkage, pebble.NoSync)
}

func stagePostponed(batch *pebble.Batch, p row.Postponed, live map[[2]uint32]bool) error {
	isLive := func(key []byte) bool {
		table, index := row.IndexOf(key)
		return live[[2]uint32{table, index}]
	}
	if p.Gone != nil && isLive(p.Gone) {
		if err := batch.Delete(p.Gone, nil); err != nil {
			return err
		}
	}
	if p.Key == nil || !isLive(p.Key) {
		return nil
	}
	return batch.Set(p.Key, p.Value, nil)
}
