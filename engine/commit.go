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

// commit collects the rows of one request and applies them as one batch. Commits are pooled. Keys
// and rows point into buf, which is reused, so they must not outlive the commit.
//
// A commit goes through these steps. It can be abandoned before publish, and only then.
//
//	enterTable   keeps the schema from changing
//	lock         takes the stripes of all items, so that what is read below stays current
//	perform      reads the old rows, evaluates conditions, stages the new rows in the batch
//	publish      applies the batch to memory and log; readers see it. Releases tables and stripes
//	await        waits until the log is on disk, together with other commits
//
// The stripes are released before the disk is awaited, because a sync takes longer than the rest.
// The next writer of the same item may therefore read a row that is not on disk yet. This is safe:
// the log is written in order, so the later write cannot be on disk without the earlier one, and a
// writer that is refused because of such a row waits for the disk (see abandon).
type commit struct {
	db       *DB
	batch    *pebble.Batch
	buf      []byte
	records  []pendingRecord
	rolls    []shardSlot // shards to close
	before   []shardBefore
	changes  []change
	entries  []entryChange
	wanted   []uint32 // stripes to take
	locked   []uint32 // stripes held
	entered  []*schema
	token    *sync.Mutex // stripe of an idempotency token, if held
	now      int64       // milliseconds since 1970
	kind     store.Write // Shrinkage as long as it leaves no item behind
	unsynced bool        // need not wait for the disk
	unsaved  bool        // published, but not on disk yet
	failed   error       // error of publishing

	rows *pebble.Iterator // iterator for commits that read many rows; nil: each row is read separately
}

// pendingRecord is a stream record without a sequence number.
type pendingRecord struct {
	stream *stream
	slot   int
	value  []byte
}

// shardSlot identifies one open shard of a stream.
type shardSlot struct {
	stream *stream
	slot   int
}

// shardBefore is the state of an open shard before a commit added to it.
type shardBefore struct {
	open *openShard
	was  openShard
}

// newCommit returns an empty commit with room for the given number of changes. The caller must end
// it with abandon, or with publish and await.
func (db *DB) newCommit(changes int) *commit {
	c := db.commits.Get().(*commit)
	c.batch = db.store.NewBatch()
	c.now = db.now().UnixMilli()
	c.changes = slices.Grow(c.changes, changes)
	return c
}

// copyBytes copies b to the commit's memory.
func (c *commit) copyBytes(b []byte) []byte {
	at := len(c.buf)
	c.buf = append(c.buf, b...)
	return c.buf[at:len(c.buf):len(c.buf)]
}

// enterTable enters a table until the commit unlocks, so that its schema stays valid.
func (c *commit) enterTable(name *string) (*schema, error) {
	s, err := c.db.enter(name)
	if err == nil {
		c.entered = append(c.entered, s)
	}
	return s, err
}

// lock takes the wanted stripes, in an order that avoids deadlocks.
func (c *commit) lock() {
	c.locked, c.wanted = c.db.stripes.LockAll(append(c.locked, c.wanted...)), c.wanted[:0]
}

// unlock releases the commit's stripes and leaves its tables.
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

// release returns the commit to the pool.
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

// abandon discards the commit and returns err, the reason. If err reveals another request's write,
// abandon waits until that write is on disk.
func (c *commit) abandon(err error) error {
	if cerr := c.batch.Close(); cerr != nil {
		err = errors.Join(err, cerr)
	}
	db := c.db
	c.release()
	if serr := db.waitDurable(); serr != nil {
		return serr
	}
	return err
}

// publish applies the commit, counts items and entries, and releases the locks. The caller must
// call await.
func (c *commit) publish() {
	if !c.batch.Empty() || c.ordered() {
		if c.unsaved = c.db.durable() && !c.unsynced; c.unsaved {
			c.db.unsaved.Add(1)
		}
		c.failed = c.apply()
	}
	if c.failed == nil {
		c.applyCounts()
	}
	c.unlock()
}

// await waits until the commit is on disk, and releases it.
func (c *commit) await() error {
	db, err := c.db, c.failed
	switch {
	case err != nil:
	case c.unsaved:
		err = db.store.Wait(c.batch)
	case c.batch.Empty():
		err = db.waitDurable()
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

// finish publishes and awaits the commit.
func (c *commit) finish() error {
	c.publish()
	return c.await()
}

// writeSync returns options that make a commit wait for the disk, if there is one.
func (db *DB) writeSync() *pebble.WriteOptions {
	if db.memory {
		return pebble.NoSync
	}
	return pebble.Sync
}

// durable reports whether writes are acknowledged only when they are on disk.
func (db *DB) durable() bool { return !db.memory && !db.o.NoSync }

// fatalPanic is deferred, and turns a panic in a commit into the end of the process. The commit
// holds locks, so a server that recovered the panic would hang from then on.
func (c *commit) fatalPanic() {
	if v := recover(); v != nil {
		c.db.store.Fail(fmt.Errorf("panic: %v\n%s", v, debug.Stack()))
		go panic(v) // in a goroutine of its own, where nothing can recover it
		select {}
	}
}

// apply makes the batch visible to readers. When it returns, the batch is in the log, but possibly
// not on disk.
func (c *commit) apply() error {
	if err := c.db.store.Admit(c.kind, c.batch.Len()); err != nil {
		return err
	}
	if !c.ordered() {
		return c.applyBatch()
	}
	db := c.db
	db.order.Lock()
	defer db.order.Unlock()
	seq, reserved := db.seq, db.reserved
	rolled, err := c.number()
	if err == nil {
		err = c.applyBatch()
	}
	if err != nil { // nothing was written: restore the numbers and shards
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

// ordered reports whether the commit adds to a stream, so that it must be applied under DB.order.
func (c *commit) ordered() bool { return len(c.records) > 0 || len(c.rolls) > 0 }

func (c *commit) applyBatch() error {
	if c.unsaved {
		return c.db.store.ApplyNoSyncWait(c.batch, pebble.Sync)
	}
	return c.db.store.Apply(c.batch, pebble.NoSync)
}

// number assigns sequence numbers to the records and adds them to the batch, together with the
// shards that end. The caller must hold DB.order.
//
// Numbers are reserved on disk in blocks of sequenceBlock, by the batch that uses the first number
// of a block. A restart continues after the reserved ones: it skips numbers, but never uses one twice.
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

// roll ends the open shard of a slot after the last record. The caller must hold DB.order.
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

// waitDurable waits until everything that readers may have seen so far is on disk. A response that
// reveals another request's write, such as a failed condition, needs this: otherwise a power loss
// could remove what the response was based on.
func (db *DB) waitDurable() error {
	if !db.durable() || db.unsaved.Load() == 0 {
		return nil
	}
	return db.syncLog()
}

// syncLog waits until everything committed before is on disk.
func (db *DB) syncLog() error {
	if err := db.store.LogData([]byte{0}, pebble.Sync); err != nil {
		return fmt.Errorf("engine: commit: %w", err)
	}
	return nil
}
