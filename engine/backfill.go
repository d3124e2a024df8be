package engine

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/engine/internal/capacity"
	"github.com/onefold/onefold/engine/internal/catalog"
	"github.com/onefold/onefold/engine/internal/damage"
	"github.com/onefold/onefold/engine/internal/row"
	"github.com/onefold/onefold/engine/internal/store"
	"github.com/onefold/onefold/engine/internal/stripe"
	"github.com/onefold/onefold/internal/backoff"
)

// A backfill writes the rows of a new index, or of a newly selected expiry attribute, for items
// that already exist. Writers maintain these rows from the moment the schema is published. The
// backfill reads each item again while holding its stripe, so that it never overwrites newer rows
// of a writer.

// backfillChunk is the number of items processed between two checks for closing.
const backfillChunk = 256

// backfillCommit is the number of items per commit. While the commit runs, other writers of these
// items wait.
const backfillCommit = 32

// resumeBackfills continues backfills that a previous process did not finish.
func (db *DB) resumeBackfills() {
	for _, t := range *db.tables.Load() {
		if t.schema.Load().desc.Pending() {
			db.startBackfill(t)
		}
	}
}

// startBackfill fills the table's unfinished indexes in the background.
func (db *DB) startBackfill(t *table) {
	db.work.Add(1)
	go func() {
		defer db.work.Done()
		err := db.backfill(t)
		for dynamo.IsFull(err) && backoff.For(db.ctx, fullPause) == nil {
			err = db.backfill(t)
		}
		if err != nil && !errors.Is(err, errStopped) && db.ctx.Err() == nil {
			db.o.Logger.Error("engine: backfill of an index stopped; it continues when the database is opened again", "error", err)
		}
	}()
}

// fullPause is how long a backfill waits before it retries when the disk is full.
const fullPause = 2 * time.Second

// errStopped is returned if the database closes or the table is deleted during a backfill.
var errStopped = errors.New("engine: stopped")

func (db *DB) backfill(t *table) error {
	s := t.schema.Load()
	if s == nil {
		return errStopped
	}
	from := row.AppendItemPrefix(nil, s.desc.ID)
	end := row.UpperBound(from)
	for from != nil {
		if db.ctx.Err() != nil {
			return errStopped
		}
		keys, next, err := db.itemKeys(from, end)
		if err != nil {
			return err
		}
		for part := range slices.Chunk(keys, backfillCommit) {
			if err := db.fillItems(t, part); err != nil {
				return err
			}
		}
		from = next
	}
	if slices.ContainsFunc(s.desc.Indexes, func(x catalog.Index) bool { return x.Building }) {
		if err := db.recount(t); err != nil {
			return err
		}
	}
	return db.finishBackfill(t, s)
}

// itemKeys returns the next chunk of item keys, and where to continue, or nil at the end.
func (db *DB) itemKeys(from, end []byte) (keys [][]byte, next []byte, err error) {
	it, err := db.store.NewIter(&pebble.IterOptions{LowerBound: from, UpperBound: end})
	if err != nil {
		return nil, nil, fmt.Errorf("engine: backfill: %w", err)
	}
	defer func() { err = joinClose(err, it) }()
	for ok := it.First(); ok; ok = it.Next() {
		if len(keys) == backfillChunk {
			return keys, append([]byte(nil), it.Key()...), nil
		}
		keys = append(keys, append([]byte(nil), it.Key()...))
	}
	return keys, nil, damage.Of(it.Error())
}

// fillItems writes the derived rows of some items in one commit. Items without valid index keys
// have no rows in that index.
func (db *DB) fillItems(t *table, keys [][]byte) error {
	c := db.newCommit(0)
	t.gate.RLock()
	s := t.schema.Load()
	if s == nil {
		t.gate.RUnlock()
		return c.abandon(errStopped)
	}
	c.entered = append(c.entered, s)
	for _, key := range keys {
		c.wanted = append(c.wanted, stripe.Of(key))
	}
	c.lock()
	for _, key := range keys {
		if err := c.fill(s, key); err != nil {
			return c.abandon(err)
		}
	}
	c.unsynced, c.kind = true, store.Growth
	return c.finish()
}

func (c *commit) fill(s *schema, key []byte) error {
	value, err := c.get(key)
	if err != nil || value == nil {
		return err
	}
	it, err := row.Decode(value)
	if err != nil {
		return err
	}
	ch := &change{s: s, key: key, keyed: it, row: value, new: it}
	for _, x := range s.Indexes {
		if !x.Desc.Building || x.Desc.CheckKeys(it) != nil {
			continue
		}
		r, err := c.indexRow(x, it, value, ch.primary())
		if err != nil {
			return err
		}
		if err := c.replaceRow(capacity.Row{}, r); err != nil {
			return err
		}
	}
	return c.stageExpiry(ch)
}

// finishBackfill marks the indexes as active that were being built when the backfill began.
func (db *DB) finishBackfill(t *table, began *schema) error {
	db.control.Lock()
	defer db.control.Unlock()
	t.gate.Lock()
	defer t.gate.Unlock()
	s := t.schema.Load()
	if s == nil {
		return errStopped
	}
	d := s.desc.Clone()
	for i := range d.Indexes {
		if x := began.Find(d.Indexes[i].Name); x != nil && x.Desc.ID == d.Indexes[i].ID {
			d.Indexes[i].Building = false
		}
	}
	if d.TTL == began.desc.TTL {
		d.Filling = false
	}
	if err := db.putTable(db.store.NewBatch(), d); err != nil {
		return err
	}
	t.schema.Store(newSchema(t, d, s.stream, s.arn))
	return nil
}
