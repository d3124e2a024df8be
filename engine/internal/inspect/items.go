package inspect

import (
	"bytes"
	"encoding/binary"

	"github.com/onefold/onefold/engine/internal/item"
	"github.com/onefold/onefold/engine/internal/layout"
	"github.com/onefold/onefold/engine/internal/row"
)

// checkTables checks the items, then the rows derived from them.
func (c *checker) checkTables() error {
	defer func() { c.at = nil }()
	for _, t := range c.tables {
		c.at = t
		prefix := row.AppendItemPrefix(nil, t.Desc.ID)
		if err := c.each(prefix, row.UpperBound(prefix), func(k, v []byte) error { return c.checkItem(t, k, v) }); err != nil {
			return err
		}
		for _, x := range t.Indexes {
			if err := c.checkEntries(t, x); err != nil {
				return err
			}
		}
		if err := c.checkExpiry(t); err != nil {
			return err
		}
	}
	return nil
}

func (c *checker) checkItem(t *table, key, value []byte) error {
	primary := key[row.ItemPrefixLen:]
	c.sum.Items++
	t.items++
	t.bytes += int64(row.Size(value))
	it, err := row.Decode(value)
	if err != nil {
		c.find(Unreadable, t, "", PrimaryText(primary), "the item cannot be read: %v", err)
		return nil
	}
	own, err := t.AppendPrimary(nil, it)
	if err != nil {
		c.find(Keyless, t, "", PrimaryText(primary), "the item lacks attributes of the table's key: scans and the stream return it without them, and no index should")
		return nil
	}
	if !bytes.Equal(own, primary) {
		c.find(Misplaced, t, "", PrimaryText(primary), "the item says that its key is %s: it is not found under either", PrimaryText(own))
		return nil
	}
	if size, enc, _ := row.Split(value); size != item.Size(it) {
		c.find(WrongSize, t, "", PrimaryText(primary), "%d bytes are noted, the item has %d: capacity and limits are reckoned wrong", size, item.Size(it))
	} else if !bytes.Equal(item.Append(nil, it), enc) {
		c.find(NotCanonical, t, "", PrimaryText(primary), "the item is not encoded in the one form: writing the same again would look like a change")
	}
	for i, x := range t.Indexes {
		if err := c.checkEntry(t, x, i, it, value, primary); err != nil {
			return err
		}
	}
	return c.checkExpires(t, it, primary)
}

// checkEntry checks an item's entry in an index.
func (c *checker) checkEntry(t *table, x *layout.Index, ordinal int, it item.Item, own, primary []byte) error {
	if !x.Covers(it) {
		return nil
	}
	key, err := x.AppendRow(nil, it, primary)
	if err != nil {
		return err
	}
	got, found, err := c.get(key)
	switch {
	case err != nil:
		return err
	case found:
		t.entries[ordinal]++
	case x.Desc.Building, c.late[string(key)]:
		return nil
	default:
		c.find(IndexMissing, t, x.Desc.Name, PrimaryText(primary), "the item has no entry: reads of the index do not see it")
		return nil
	}
	want := own
	if x.Project != nil {
		want = row.Append(nil, x.Entry(it))
	}
	if !bytes.Equal(got, want) && !c.late[string(key)] {
		c.find(IndexStale, t, x.Desc.Name, PrimaryText(primary), "the entry does not say what the item says: reads of the index answer something else")
	}
	return nil
}

// checkEntries counts the entries of an index. If there are too many, it looks for those without an
// item.
func (c *checker) checkEntries(t *table, x *layout.Index) error {
	count := int64(0)
	end := row.UpperBound(x.Prefix)
	if err := c.each(x.Prefix, end, func(_, _ []byte) error { count++; return nil }); err != nil {
		return err
	}
	c.sum.IndexRows += count
	if count == t.entries[x.Ordinal] {
		return nil
	}
	return c.each(x.Prefix, end, func(key, _ []byte) error {
		if c.late[string(key)] {
			return nil
		}
		primary, ok := x.Primary(key)
		if !ok {
			c.find(Unreadable, t, x.Desc.Name, hex(key), "the entry's key cannot be read: reads of the index may fail")
			return nil
		}
		it, readable, err := c.itemAt(t, primary)
		if err != nil || !readable { // already reported
			return err
		}
		if x.Covers(it) {
			own, err := x.AppendRow(nil, it, primary)
			if err == nil && bytes.Equal(own, key) {
				return nil
			}
		}
		c.find(IndexOrphan, t, x.Desc.Name, PrimaryText(primary), "no item stands behind the entry %s: reads of the index answer an item that is not there, or is elsewhere", keyText(key[len(x.Prefix)+hashBytes:len(key)-len(primary)]))
		return nil
	})
}

// itemAt returns the item with a primary key, or nil.
func (c *checker) itemAt(t *table, primary []byte) (it item.Item, readable bool, err error) {
	v, found, err := c.get(append(row.AppendItemPrefix(nil, t.Desc.ID), primary...))
	if err != nil || !found {
		return nil, true, err
	}
	it, unreadable := row.Decode(v)
	return it, unreadable == nil, nil
}

// checkExpires checks an item's expiry row.
func (c *checker) checkExpires(t *table, it item.Item, primary []byte) error {
	at, ok := layout.Expiry(it[t.Desc.TTL])
	if t.Desc.TTL == "" || !ok {
		return nil
	}
	_, found, err := c.get(row.AppendExpiryKey(nil, t.Desc.ID, at, primary))
	if err != nil {
		return err
	}
	if found {
		t.expiry++
	} else if !t.Desc.Filling {
		c.find(TTLMissing, t, "", PrimaryText(primary), "the item expires at %d, and nothing will delete it then", at)
	}
	return nil
}

// checkExpiry counts a table's expiry rows. If there are too many, it looks for those without an
// item.
func (c *checker) checkExpiry(t *table) error {
	if t.Desc.TTL == "" {
		return nil // checkUnknown finds such rows
	}
	prefix := binary.BigEndian.AppendUint32([]byte{row.SpaceExpiry}, t.Desc.ID)
	count, end := int64(0), row.UpperBound(prefix)
	if err := c.each(prefix, end, func(_, _ []byte) error { count++; return nil }); err != nil {
		return err
	}
	c.sum.ExpiryRows += count
	if count == t.expiry {
		return nil
	}
	return c.each(prefix, end, func(key, _ []byte) error {
		if len(key) <= row.ExpiryPrefixLen+hashBytes {
			c.find(Unreadable, t, "", hex(key), "the expiry row's key cannot be read")
			return nil
		}
		primary := key[row.ExpiryPrefixLen:]
		it, readable, err := c.itemAt(t, primary)
		if err != nil || !readable { // already reported
			return err
		}
		noted := int64(binary.BigEndian.Uint64(key[row.ExpiryPrefixLen-8:]))
		if at, ok := layout.Expiry(it[t.Desc.TTL]); !ok || at != noted {
			c.find(TTLOrphan, t, "", PrimaryText(primary), "no item expires at %d as the row says; it is dropped then", noted)
		}
		return nil
	})
}
