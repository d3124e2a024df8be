package engine

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"github.com/onefold/onefold/engine/internal/catalog"
	"github.com/onefold/onefold/engine/internal/row"
	"github.com/onefold/onefold/engine/internal/store"
)

// commit gathers the rows of one request and applies them as one batch. It is reused; buf is its memory, into which
// its keys and rows point.
type commit struct {
	db       *DB
	batch    *pebble.Batch
	buf      []byte
	records  []pendingRecord
	rolls    []shardSlot // shards to close
	before   []shardBefore
	changes  []change
	entries  []entryChange
	wanted   []uint32 // stripes to be taken
	locked   []uint32 // stripes held
	entered  []*schema
	token    *sync.Mutex // held stripe of an idempotency token
	now      int64       // milliseconds since 1970
	kind     store.Write // Shrinkage as long as it leaves no item behind
	unsynced bool        // is not awaited to be on disk
	unsaved  bool        // published, and not on disk yet
	failed   error       // of publishing

	rows *pebble.Iterator // what rows are read with, by a commit that reads many; nil: one by one
}

// pendingRecord is a stream record that has no sequence number yet.
type pendingRecord struct {
	stream *stream
	slot   int
	value  []byte
}

// shardSlot is one open shard of a stream.
type shardSlot struct {
	stream *stream
	slot   int
}

// shardBefore is an open shard as it was before a commit added to it.
type shardBefore struct {
	open *openShard
	was  openShard
}

// newCommit returns an empty commit for up to so many changes. Whoever takes it gives it back with abandon, or with publish and await.
func (db *DB) newCommit(changes int) *commit {
	c := db.commits.Get().(*commit)
	c.batch = db.store.NewBatch()
	c.now = db.now().UnixMilli()
	c.changes = slices.Grow(c.changes, changes)
	return c
}

// keep copies b into the commit's memory.
func (c *commit) keep(b []byte) []byte {
	at := len(c.buf)
	c.buf = append(c.buf, b...)
	return c.buf[at:len(c.buf):len(c.buf)]
}

// enter takes part in a table until the commit unlocks.
func (c *commit) enter(name *string) (*schema, error) {
	s, err := c.db.enter(name)
	if err == nil {
		c.entered = append(c.entered, s)
	}
	return s, err
}

// lock takes the stripes that are wanted.
func (c *commit) lock() {
	c.locked, c.wanted = c.db.stripes.LockAll(append(c.locked, c.wanted...)), c.wanted[:0]
}

// unlock releases the stripes that the commit holds and leaves its tables.
func (c *commit) unlock() {
	if c.token != nil {
		c.token.Unlock()
		c.token = nil
	}
	c.db.stripes.UnlockAll(c.locked)
	for _, s := range c.entered {
		s.leave()
	}
	clear(c.entered)
	c.locked, c.entered = c.locked[:0], c.entered[:0]
}

const maxKeptBuffer = 1 << 20

// release gives the commit back.
func (c *commit) release() {
	c.unlock()
	c.wanted = c.wanted[:0]
	clear(c.records)
	clear(c.changes)
	clear(c.before)
	clear(c.entries)
	c.records, c.rolls, c.changes, c.before, c.entries = c.records[:0], c.rolls[:0], c.changes[:0], c.before[:0], c.entries[:0]
	c.kind, c.unsynced, c.unsaved, c.failed = store.Shrinkage, false, false, nil
	if c.buf = c.buf[:0]; cap(c.buf) > maxKeptBuffer {
		c.buf = nil
	}
	c.db.commits.Put(c)
}

// abandon gives the commit back without writing anything and returns err, which is why. When err tells of what another
// request has written, it is not told before that is on disk.
func (c *commit) abandon(err error) error {
	if cerr := c.batch.Close(); cerr != nil {
		err = errors.Join(err, cerr)
	}
	db := c.db
	c.release()
	if serr := db.settle(); serr != nil {
		return serr
	}
	return err
}

// publish applies the commit, counts items and entries and lets go of the locks. The caller must await it.
func (c *commit) publish() {
	if !c.batch.Empty() || c.ordered() {
		if c.unsaved = c.db.durable() && !c.unsynced; c.unsaved {
			c.db.unsaved.Add(1)
		}
		c.failed = c.apply()
	}
	if c.failed == nil {
		c.tallyUp()
	}
	c.unlock()
}

// await returns when the commit is on disk, and gives it back.
func (c *commit) await() error {
	db, err := c.db, c.failed
	switch {
	case err != nil:
	case c.unsaved:
		err = db.store.Wait(c.batch)
	case c.batch.Empty():
		err = db.settle()
	}
	if c.unsaved {
		db.unsaved.Add(-1)
	}
	if cerr := c.batch.Close(); err == nil {
		err = cerr
	}
	c.release()
	if err != nil {
		return fmt.Errorf("engine: commit: %w", err)
	}
	return nil
}

// finish publishes and awaits.
func (c *commit) finish() error {
	c.publish()
	return c.await()
}

// writeSync makes a commit wait for the disk, as far as there is one.
func (db *DB) writeSync() *pebble.WriteOptions {
	if db.memory {
		return pebble.NoSync
	}
	return pebble.Sync
}

// durable reports whether writes are acknowledged only once they are on disk.
func (db *DB) durable() bool { return !db.memory && !db.o.NoSync }

// fatalPanic makes a panic of a commit the end of the process: it holds locks, and a server that recovered it would hang from
// then on. It is deferred.
func (c *commit) fatalPanic() {
	if v := recover(); v != nil {
		c.db.store.Fail(fmt.Errorf("panic: %v\n%s", v, debug.Stack()))
		go panic(v) // nobody recovers that one
		select {}
	}
}

// apply makes the batch visible to readers. When it returns, the batch is in the log but perhaps not on disk.
func (c *commit) apply() error {
	if err := c.db.store.Admit(c.kind, c.batch.Len()); err != nil {
		return err
	}
	if !c.ordered() {
		return c.hand()
	}
	db := c.db
	db.order.Lock()
	defer db.order.Unlock()
	seq, reserved := db.seq, db.reserved
	rolled, err := c.number()
	if err == nil {
		err = c.hand()
	}
	if err != nil { // nothing was written: the numbers and the shards are as they were
		db.seq, db.reserved = seq, reserved
		for _, b := range slices.Backward(c.before) {
			*b.open = b.was
		}
		return err
	}
	db.applied.Store(db.seq)
	for st, d := range rolled {
		st.desc.Store(d)
	}
	return nil
}

// ordered reports whether the commit adds to a stream.
func (c *commit) ordered() bool { return len(c.records) > 0 || len(c.rolls) > 0 }

func (c *commit) hand() error {
	if c.unsaved {
		return c.db.store.ApplyNoSyncWait(c.batch, pebble.Sync)
	}
	return c.db.store.Apply(c.batch, pebble.NoSync)
}

// number gives the records their sequence numbers and adds them to the batch, with the shards that end here. The
// caller holds DB.order.
func (c *commit) number() (rolled map[*stream]*catalog.Stream, err error) {
	db := c.db
	for i := range c.records {
		r := &c.records[i]
		db.seq++
		if db.seq >= db.reserved {
			db.reserved = db.seq + sequenceBlock
			if err := c.batch.Set(row.KeySequence, binary.BigEndian.AppendUint64(nil, db.reserved), nil); err != nil {
				return nil, err
			}
		}
		open := &r.stream.open[r.slot]
		if db.o.RollEvery > 0 {
			c.before = append(c.before, shardBefore{open, *open})
		}
		op := c.batch.SetDeferred(row.RecordKeyLen, len(r.value))
		row.PutRecordKey(op.Key, r.stream.id, open.id, db.seq)
		copy(op.Value, r.value)
		if err := op.Finish(); err != nil {
			return nil, err
		}
		open.count++
		if db.o.RollEvery > 0 && open.count >= db.o.RollEvery {
			if rolled, err = c.roll(rolled, r.stream, r.slot); err != nil {
				return nil, err
			}
		}
	}
	for _, r := range c.rolls {
		if rolled, err = c.roll(rolled, r.stream, r.slot); err != nil {
			return nil, err
		}
	}
	return rolled, nil
}

// roll ends the open shard of a slot after the last record. The caller holds DB.order.
func (c *commit) roll(rolled map[*stream]*catalog.Stream, st *stream, slot int) (map[*stream]*catalog.Stream, error) {
	if rolled == nil {
		rolled = map[*stream]*catalog.Stream{}
	}
	d := rolled[st]
	if d == nil {
		d = st.desc.Load()
	}
	c.before = append(c.before, shardBefore{&st.open[slot], st.open[slot]})
	child := d.NextID
	d = d.Rolled(slot, c.db.seq, c.now)
	rolled[st] = d
	st.open[slot] = openShard{id: child}
	return rolled, putStream(c.batch, d)
}

// settle returns when everything that a reader can have seen by now is on disk. An answer that tells of another
// request's write, such as a failed condition, waits for it: else a power loss could take what the answer relied on.
func (db *DB) settle() error {
	if !db.durable() || db.unsaved.Load() == 0 {
		return nil
	}
	return db.syncLog()
}

// syncLog returns when everything that was committed before is on disk.
func (db *DB) syncLog() error {
	if err := db.store.LogData([]byte{0}, pebble.Sync); err != nil {
		return fmt.Errorf("engine: commit: %w", err)
	}
	return nil
}
