package engine

import (
	"bytes"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/onefold/onefold/engine/internal/capacity"
	"github.com/onefold/onefold/engine/internal/damage"
	"github.com/onefold/onefold/engine/internal/item"
	"github.com/onefold/onefold/engine/internal/layout"
	"github.com/onefold/onefold/engine/internal/row"
	"github.com/onefold/onefold/engine/internal/store"
)

// change is the effect of a request on one item.
type change struct {
	s       *schema
	key     []byte         // row key of the item
	keyed   item.Item      // an item with the same key attributes
	old     []byte         // the row before; nil for none
	oldItem item.Item      // decoded on first use
	new     item.Item      // the item after; nil for none
	row     []byte         // the row after; nil for none
	service bool           // made by expiry
	use     capacity.Usage // consumed capacity
}

// primary returns the primary key bytes of the item: hash, partition key, sort key.
func (ch *change) primary() []byte { return ch.key[row.ItemPrefixLen:] }

// same reports whether the item is unchanged.
func (ch *change) same() bool {
	return (ch.old == nil) == (ch.row == nil) && bytes.Equal(ch.old, ch.row)
}

// before returns the item before the change, or nil if there was none.
func (ch *change) before() (item.Item, error) {
	if ch.oldItem != nil || ch.old == nil {
		return ch.oldItem, nil
	}
	it, err := row.Decode(ch.old)
	ch.oldItem = it
	return it, err
}

// loadChange starts a change by reading the old row. The caller must hold the item's stripe.
func (c *commit) loadChange(s *schema, key []byte, keyed item.Item) (*change, error) {
	old, err := c.get(key)
	if err != nil {
		return nil, err
	}
	c.changes = append(c.changes, change{s: s, key: key, keyed: keyed, old: old})
	return &c.changes[len(c.changes)-1], nil
}

// get copies a row to the commit's memory, or returns nil if there is none.
func (c *commit) get(key []byte) ([]byte, error) {
	if c.rows != nil {
		return c.seek(key)
	}
	v, closer, err := c.db.store.Get(key)
	if err == pebble.ErrNotFound {
		return nil, nil
	}
	if err != nil {
		return nil, damage.Of(err)
	}
	value := c.copyBytes(v)
	if err := closer.Close(); err != nil {
		return nil, err
	}
	if _, _, err := row.Split(value); err != nil {
		return nil, err
	}
	return value, nil
}

// withIterator calls do with an iterator set up for reading rows as they are now. The caller must hold
// their stripes.
func (c *commit) withIterator(do func() error) (err error) {
	if c.rows, err = c.db.rows(); err != nil {
		return err
	}
	defer func() {
		err = joinClose(err, c.rows)
		c.rows = nil
	}()
	return do()
}

// seek is get with the existing iterator, which is cheaper than opening one per row, in particular
// in key order.
func (c *commit) seek(key []byte) ([]byte, error) {
	if !c.rows.SeekPrefixGE(key) {
		return nil, damage.Of(c.rows.Error())
	}
	v, err := damage.Value(c.rows)
	if err != nil {
		return nil, err
	}
	value := c.copyBytes(v)
	if _, _, err := row.Split(value); err != nil {
		return nil, err
	}
	return value, nil
}

// put sets the item after the change. It must have been checked; size is its size in bytes.
func (c *commit) put(ch *change, it item.Item, size int) {
	at := len(c.buf)
	c.buf = row.AppendMeasured(c.buf, it, size)
	ch.new, ch.row = it, c.buf[at:len(c.buf):len(c.buf)]
}

// stage adds the rows of a change to the batch: item, index rows, expiry row and stream record. A
// change without effect has no rows, but consumes capacity.
func (c *commit) stage(ch *change) error {
	ch.use.Table = capacity.WriteUnits(max(row.Size(ch.old), row.Size(ch.row)))
	if len(ch.s.Indexes) > 0 {
		if err := c.stageIndexes(ch); err != nil {
			return err
		}
	}
	if ch.same() {
		return nil
	}
	if ch.row != nil {
		c.kind = store.Growth
	}
	if err := c.stageItem(ch); err != nil {
		return err
	}
	if err := c.stageExpiry(ch); err != nil {
		return err
	}
	c.stageRecord(ch)
	return nil
}

// stageItem adds the item's row. It is the last check that an item is stored under its own key: a
// wrong one would reach every reader of the table, its indexes and its stream.
func (c *commit) stageItem(ch *change) error {
	if ch.row == nil {
		return c.batch.Delete(ch.key, nil)
	}
	at := len(c.buf)
	own, err := ch.s.AppendItemKey(c.buf, ch.new)
	if err != nil || !bytes.Equal(own[at:], ch.key) {
		return fmt.Errorf("engine: item of table %s: %w", ch.s.desc.Name, errWrongKey)
	}
	return c.batch.Set(ch.key, ch.row, nil)
}

// stageIndexes adds the index rows affected by a change and counts their capacity.
func (c *commit) stageIndexes(ch *change) error {
	old, err := ch.before()
	if err != nil {
		return err
	}
	for _, x := range ch.s.Indexes {
		was, err := c.indexRow(x, old, ch.old, ch.primary())
		if err != nil {
			return err
		}
		is, err := c.indexRow(x, ch.new, ch.row, ch.primary())
		if err != nil {
			return err
		}
		units := capacity.IndexUnits(was, is)
		ch.use.AddIndex(x.Ordinal, units)
		ch.meterEntry(x, was, is, units, c.now/1000)
		c.noteEntry(ch.s.counts[x.Ordinal], was, is)
		if c.db.o.IndexDelay > 0 && !x.Desc.Local {
			err = c.postpone(was, is)
		} else {
			err = c.replaceRow(was, is)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// indexRow returns an index's row for an item. own is the item's own row.
func (c *commit) indexRow(x *layout.Index, it item.Item, own, primary []byte) (capacity.Row, error) {
	if !x.Covers(it) {
		return capacity.Row{}, nil
	}
	at := len(c.buf)
	buf, err := x.AppendRow(c.buf, it, primary)
	if err != nil {
		return capacity.Row{}, err
	}
	c.buf = buf
	r := capacity.Row{Key: c.buf[at:len(c.buf):len(c.buf)], Value: own}
	if x.Project != nil {
		at = len(c.buf)
		c.buf = row.Append(c.buf, x.Entry(it))
		r.Value = c.buf[at:len(c.buf):len(c.buf)]
	}
	return r, nil
}

// replaceRow replaces one index row with another.
func (c *commit) replaceRow(was, is capacity.Row) error {
	sameKey := bytes.Equal(was.Key, is.Key)
	if was.Key != nil && !sameKey {
		if err := c.batch.Delete(was.Key, nil); err != nil {
			return err
		}
	}
	if is.Key == nil || sameKey && bytes.Equal(was.Value, is.Value) {
		return nil
	}
	return c.batch.Set(is.Key, is.Value, nil)
}

// stageExpiry moves the item's expiry row.
func (c *commit) stageExpiry(ch *change) error {
	attr := ch.s.desc.TTL
	if attr == "" {
		return nil
	}
	was, hadOne, err := ch.expiryBefore(attr)
	if err != nil {
		return err
	}
	is, hasOne := layout.Expiry(ch.new[attr])
	if hadOne && (!hasOne || was != is) {
		if err := c.batch.Delete(c.expiryKey(ch, was), nil); err != nil {
			return err
		}
	}
	if hasOne && (!hadOne || was != is) {
		return c.batch.Set(c.expiryKey(ch, is), nil, nil)
	}
	return nil
}

func (ch *change) expiryBefore(attr string) (int64, bool, error) {
	if ch.old == nil {
		return 0, false, nil
	}
	if ch.oldItem != nil {
		at, ok := layout.Expiry(ch.oldItem[attr])
		return at, ok, nil
	}
	_, b, err := row.Split(ch.old)
	if err != nil {
		return 0, false, err
	}
	v, _, err := item.Lookup(b, attr)
	at, ok := layout.Expiry(v)
	return at, ok, err
}

func (c *commit) expiryKey(ch *change, at int64) []byte {
	from := len(c.buf)
	c.buf = row.AppendExpiryKey(c.buf, ch.s.desc.ID, at, ch.primary())
	return c.buf[from:len(c.buf):len(c.buf)]
}

// stageRecord prepares the stream record of a change.
func (c *commit) stageRecord(ch *change) {
	st := ch.s.stream
	if st == nil {
		return
	}
	at := len(c.buf)
	c.buf = row.AppendRecord(c.buf, st.view, c.now, ch.service, ch.old, ch.row, func() []byte { return ch.keyRow() })
	c.records = append(c.records, pendingRecord{stream: st, slot: st.slot(ch.primary()), value: c.buf[at:len(c.buf):len(c.buf)]})
}

// keyRow returns a row with only the item's key attributes.
func (ch *change) keyRow() []byte { return row.Append(nil, ch.s.PrimaryKey(ch.keyed)) }
