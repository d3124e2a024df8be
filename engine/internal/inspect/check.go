package inspect

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/onefold/onefold/engine/internal/catalog"
	"github.com/onefold/onefold/engine/internal/layout"
	"github.com/onefold/onefold/engine/internal/row"
)

// checker checks that the rows of a store are consistent:
//
//   - catalog: descriptors are readable, IDs are unique, streams and tables refer to each other, and
//     no row belongs to anything else
//   - items: readable, stored under their own key, with the correct size; with an entry in each index
//     that covers them, and an expiry row if they expire
//   - index entries and expiry rows: each belongs to an item, and has the bytes that follow from it
//   - streams: records are readable and within their shard and slot; the last one of an item matches it
//   - tokens: each has both of its rows
//   - postponed index changes: readable; their effect is not compared
//
// Derived rows are looked up from their items. Only if there are more rows than were found in this
// way, the checker searches for the excess ones. This keeps memory small, and the work to one pass
// and one lookup per entry.
type checker struct {
	*reader
	report  func(Finding)
	sum     Summary
	tables  map[uint32]*table
	at      *table // whose rows are being checked, or nil
	streams map[uint32]*catalog.Stream
	late    map[string]bool // keys of index entries that a postponed change adds or removes
	damaged map[string]bool // damaged files already reported
	losses  int             // number of unreadable places
	nextID  uint64
	nextSeq uint64
}

// table is a table and its counts.
type table struct {
	*layout.Table
	items   int64
	bytes   int64
	entries []int64 // found, by index
	expiry  int64   // found
	broken  bool    // rows of it could not be read
}

// Check reads all rows and calls report for inconsistencies. The error is that of a failed read, or
// of ctx.
func Check(ctx context.Context, source Source, report func(Finding)) (sum Summary, counts map[string][2]int64, err error) {
	r, err := newReader(ctx, source)
	if err != nil {
		return sum, nil, err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	c := &checker{reader: r, report: report, tables: map[uint32]*table{}, streams: map[uint32]*catalog.Stream{}, late: map[string]bool{}, damaged: map[string]bool{}}
	r.lost = func(err error) { c.addDamage(err) }
	if err := c.run(c.checkMeta, c.checkCatalog, c.readPostponed); err != nil || c.losses > 0 {
		return c.sum, nil, err // the rest cannot be checked without descriptors
	}
	if err := c.run(c.checkTables, c.checkStreams, c.checkTokens, c.checkUnknown); err != nil {
		return c.sum, nil, err
	}
	counts = map[string][2]int64{}
	for _, t := range c.tables {
		if !t.broken {
			counts[t.Desc.Name] = [2]int64{t.items, t.bytes}
		}
	}
	return c.sum, counts, nil
}

func (c *checker) run(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// addDamage reports a damaged file, once for each table with rows in it.
func (c *checker) addDamage(err error) {
	c.losses++
	text := strings.TrimPrefix(err.Error(), row.ErrCorrupt.Error()+": ")
	about := text
	if c.at != nil {
		about, c.at.broken = c.at.Desc.Name+" "+text, true
	}
	if !c.damaged[about] {
		c.damaged[about] = true
		c.find(FileDamaged, c.at, "", "", "%s: rows in it cannot be read, and those behind them were not all checked", text)
	}
}

// find reports a finding.
func (c *checker) find(kind Kind, t *table, index, key, format string, args ...any) {
	f := Finding{Kind: kind, Index: index, Key: key, Text: fmt.Sprintf(format, args...)}
	if t != nil {
		f.Table = t.Desc.Name
	}
	if !f.Harmless() {
		c.sum.Findings++
	}
	c.report(f)
}

// checkMeta checks the counters.
func (c *checker) checkMeta() error {
	formatted := false
	err := c.each([]byte{row.SpaceMeta}, []byte{row.SpaceMeta + 1}, func(key, value []byte) error {
		switch {
		case bytes.Equal(key, row.KeyFormat) && len(value) == 1:
			formatted = true
		case bytes.Equal(key, row.KeySequence) && len(value) == 8:
			c.nextSeq = binary.BigEndian.Uint64(value)
		case bytes.Equal(key, row.KeyIDs) && len(value) == 8:
			c.nextID = binary.BigEndian.Uint64(value)
		case bytes.Equal(key, row.KeyOpen) && len(value) == 1:
		case len(key) == countKeyLen && key[1] == 'c' && len(value) == countLen:
		case len(key) == countKeyLen && key[1] == 'e' && len(value) >= countLen && (len(value)-countLen)%(4+countLen) == 0:
		default:
			c.find(Catalog, nil, "", hex(key), "a counter has %d bytes, or there is none of this name", len(value))
		}
		return nil
	})
	if !formatted && err == nil && c.losses == 0 {
		c.find(Catalog, nil, "", hex(row.KeyFormat), "the format version is missing: another program could misread the store")
	}
	return err
}

// Sizes of the saved counts.
const (
	countKeyLen = 2 + 4
	countLen    = 8 + 8
)

// checkCatalog checks the descriptors.
func (c *checker) checkCatalog() error {
	used := map[uint32]string{}
	use := func(id uint32, what string) {
		if used[id] != "" {
			c.find(Catalog, nil, "", what, "has the id %d, and so has %s: their rows are mixed", id, used[id])
		}
		if uint64(id) >= c.nextID {
			c.find(Catalog, nil, "", what, "has the id %d, which has not been given out: another one will get it again", id)
		}
		used[id] = what
	}
	err := c.each([]byte{row.SpaceTable}, []byte{row.SpaceTable + 1}, func(key, value []byte) error {
		d, err := catalog.DecodeTable(value)
		if err != nil || string(key[1:]) != d.Name {
			c.find(Unreadable, nil, "", string(key[1:]), "the table's descriptor cannot be read, or is another table's: the table is lost (%v)", err)
			return nil
		}
		c.sum.Tables++
		use(d.ID, "table "+d.Name)
		for _, x := range d.Indexes {
			use(x.ID, "index "+d.Name+"/"+x.Name)
		}
		c.tables[d.ID] = &table{Table: layout.New(d), entries: make([]int64, len(d.Indexes))}
		return nil
	})
	if err != nil {
		return err
	}
	err = c.each([]byte{row.SpaceStream}, []byte{row.SpaceStream + 1}, func(key, value []byte) error {
		d, err := catalog.DecodeStream(value)
		if err != nil || !bytes.Equal(row.StreamKey(d.ID), key) {
			c.find(Unreadable, nil, "", hex(key), "the stream's descriptor cannot be read, or is another stream's: its records are lost (%v)", err)
			return nil
		}
		use(d.ID, "stream "+d.Table+"/"+d.Label)
		c.streams[d.ID] = d
		return nil
	})
	for _, t := range c.tables {
		if id := t.Desc.Stream; err == nil && id != 0 && c.streams[id] == nil {
			c.find(Catalog, t, "", "", "its stream %d is not there: changes are recorded nowhere", id)
		}
	}
	return err
}

// checkUnknown looks for rows that do not belong to anything.
func (c *checker) checkUnknown() error {
	for from := []byte{0}; from != nil; {
		if !c.lookup.SeekGE(from) {
			return c.survive(c.lookup.Error())
		}
		at := bytes.Clone(c.lookup.Key())
		group := at[:min(len(at), groupLength(at[0]))]
		from = row.UpperBound(group)
		if c.belongs(at) {
			continue
		}
		rows := 0
		if err := c.each(at, from, func([]byte, []byte) error { rows++; return nil }); err != nil {
			return err
		}
		c.find(Unknown, nil, "", hex(group), "%d rows belong to no table, index or stream that there is; they only take room", rows)
	}
	return nil
}

// groupLength returns the length of the part of a key that identifies what the row belongs to.
func groupLength(space byte) int {
	switch space {
	case row.SpaceItem, row.SpaceExpiry:
		return 1 + 4
	case row.SpaceIndex, row.SpaceRecord:
		return 1 + 4 + 4
	}
	return 1
}

// belongs reports whether a row belongs to an existing object.
func (c *checker) belongs(key []byte) bool {
	t := c.tables[id(key, 1)]
	switch key[0] {
	case row.SpaceMeta, row.SpaceTable, row.SpaceStream, row.SpaceToken, row.SpaceTokenTime, row.SpacePostponed:
		return true
	case row.SpaceItem:
		return t != nil
	case row.SpaceExpiry:
		return t != nil && t.Desc.TTL != ""
	case row.SpaceIndex:
		return t != nil && slices.ContainsFunc(t.Indexes, func(x *layout.Index) bool { return x.Desc.ID == id(key, 5) })
	case row.SpaceRecord:
		d := c.streams[id(key, 1)]
		return d != nil && slices.ContainsFunc(d.Shards, func(sh catalog.Shard) bool { return sh.ID == id(key, 5) })
	}
	return false
}

// id returns the ID in a key, or 0 if the key is too short.
func id(key []byte, at int) uint32 {
	if len(key) < at+4 {
		return 0
	}
	return binary.BigEndian.Uint32(key[at:])
}
