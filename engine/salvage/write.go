package salvage

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/onefold/onefold/engine/internal/catalog"
	"github.com/onefold/onefold/engine/internal/inspect"
	"github.com/onefold/onefold/engine/internal/layout"
	"github.com/onefold/onefold/engine/internal/row"
)

// Summary counts what was recovered.
type Summary struct {
	Tables   int   `json:"tables"`
	Items    int64 `json:"items"`
	Restored int64 `json:"restored"` // lost items that were restored from an index or a stream
	Records  int64 `json:"records"`  // of streams
	Losses   int64 `json:"losses"`
}

// writer writes the rows of the new store.
type writer struct {
	*rows
	put      func(key, value []byte) error // receives the rows of the new store
	report   func(Loss)
	sum      Summary
	gaps     []gap
	tables   map[uint32]*layout.Table
	streams  map[uint32]*catalog.Stream
	nextID   uint64
	sequence uint64 // sequence numbers below it may be in use
}

func (w *writer) addLoss(l Loss) {
	w.sum.Losses++
	w.report(l)
}

// catalog writes the descriptors of tables and streams.
func (w *writer) catalog() error {
	err := w.each([]byte{row.SpaceTable}, func(v version) error {
		d, err := catalog.DecodeTable(v.value)
		if err != nil || string(v.key[1:]) != d.Name {
			w.addLoss(Loss{File: "catalog", Table: string(v.key[1:]), Text: "the table's descriptor cannot be read: the table is lost"})
			return nil
		}
		w.sum.Tables++
		w.tables[d.ID] = layout.New(d)
		w.nextID = max(w.nextID, uint64(d.ID)+1)
		for _, x := range d.Indexes {
			w.nextID = max(w.nextID, uint64(x.ID)+1)
		}
		return w.put(v.key, v.value)
	})
	if err != nil {
		return err
	}
	return w.each([]byte{row.SpaceStream}, func(v version) error {
		d, err := catalog.DecodeStream(v.value)
		if err != nil || !bytes.Equal(row.StreamKey(d.ID), v.key) {
			w.addLoss(Loss{File: "catalog", Text: "a stream's descriptor cannot be read: its records are lost"})
			return nil
		}
		w.streams[d.ID] = d
		w.nextID = max(w.nextID, uint64(d.ID)+1)
		for _, sh := range d.Shards {
			w.sequence = max(w.sequence, sh.First, sh.Last+1)
		}
		return w.put(v.key, v.value)
	})
}

// restore restores lost items.
func (w *writer) restore() error {
	for _, t := range w.tables {
		r := restorer{rows: w.rows, gaps: lostItems(w.gaps, t)}
		if err := r.table(t, w.streams[t.Desc.Stream]); err != nil {
			return err
		}
		w.sum.Restored += r.restored
	}
	return nil
}

// items writes the items with their index entries and expiry rows.
func (w *writer) items() error {
	unknown := int64(0)
	err := w.each([]byte{row.SpaceItem}, func(v version) error {
		if len(v.key) <= row.ItemPrefixLen {
			unknown++
			return nil
		}
		t := w.tables[binary.BigEndian.Uint32(v.key[1:])]
		if t == nil {
			unknown++
			return nil
		}
		return w.item(t, v)
	})
	if unknown > 0 {
		w.addLoss(Loss{File: "catalog", Text: fmt.Sprintf("%d items belong to no table whose descriptor can be read: they are lost", unknown)})
	}
	return err
}

func (w *writer) item(t *layout.Table, v version) error {
	primary := v.key[row.ItemPrefixLen:]
	it, err := row.Decode(v.value)
	if err == nil {
		var own []byte
		if own, err = t.AppendPrimary(nil, it); err == nil && !bytes.Equal(own, primary) {
			err = row.ErrCorrupt
		}
	}
	if err != nil {
		key := inspect.PrimaryText(primary)
		w.addLoss(Loss{File: "items", Table: t.Desc.Name, After: key, Until: key, Text: "the item cannot be decoded: it is lost"})
		return nil
	}
	w.sum.Items++
	if err := w.put(v.key, v.value); err != nil {
		return err
	}
	for _, x := range t.Indexes {
		if !x.Covers(it) {
			continue
		}
		key, err := x.AppendRow(nil, it, primary)
		if err != nil {
			return err
		}
		entry := v.value
		if x.Project != nil {
			entry = row.Append(nil, x.Entry(it))
		}
		if err := w.put(key, entry); err != nil {
			return err
		}
	}
	if at, ok := layout.Expiry(it[t.Desc.TTL]); ok && t.Desc.TTL != "" {
		return w.put(row.AppendExpiryKey(nil, t.Desc.ID, at, primary), nil)
	}
	return nil
}

// records writes the stream records.
func (w *writer) records() error {
	unreadable := 0
	err := w.each([]byte{row.SpaceRecord}, func(v version) error {
		if len(v.key) != row.RecordKeyLen {
			unreadable++
			return nil
		}
		d := w.streams[binary.BigEndian.Uint32(v.key[1:])]
		if d == nil || !slices.ContainsFunc(d.Shards, func(sh catalog.Shard) bool { return sh.ID == binary.BigEndian.Uint32(v.key[5:]) }) {
			return nil // of a deleted stream
		}
		if _, err := row.ParseRecord(v.value); err != nil {
			unreadable++
			return nil
		}
		w.sum.Records++
		w.sequence = max(w.sequence, row.RecordSequence(v.key)+1)
		return w.put(v.key, v.value)
	})
	if unreadable > 0 {
		w.addLoss(Loss{File: "stream records", Text: fmt.Sprintf("%d records cannot be decoded: whoever reads the streams does not see them", unreadable)})
	}
	return err
}

// tokens writes the tokens of transactions.
func (w *writer) tokens() error {
	for _, space := range []byte{row.SpaceToken, row.SpaceTokenTime} {
		if err := w.each([]byte{space}, func(v version) error { return w.put(v.key, v.value) }); err != nil {
			return err
		}
	}
	return nil
}

// meta writes the counters, set beyond all values that may be in use. The store counts as not
// closed, so that opening it counts the items.
func (w *writer) meta() error {
	format := []byte{catalog.FormatSupported}
	for key, at := range map[string]*uint64{string(row.KeySequence): &w.sequence, string(row.KeyIDs): &w.nextID} {
		v, found, err := w.get([]byte(key))
		if err != nil {
			return err
		}
		if found && len(v.value) == 8 {
			*at = max(*at, binary.BigEndian.Uint64(v.value))
			continue
		}
		*at += 1 << 20
	}
	if v, found, err := w.get(row.KeyFormat); err != nil {
		return err
	} else if found && len(v.value) == 1 {
		format = v.value
	}
	for key, value := range map[string][]byte{
		string(row.KeyFormat): format, string(row.KeyOpen): {1},
		string(row.KeySequence): binary.BigEndian.AppendUint64(nil, w.sequence), string(row.KeyIDs): binary.BigEndian.AppendUint64(nil, w.nextID),
	} {
		if err := w.put([]byte(key), value); err != nil {
			return err
		}
	}
	return nil
}

// otherSpaces are the rows besides items that cannot be rebuilt, and the consequence of losing
// them.
var otherSpaces = []struct {
	space byte
	means string
}{
	{row.SpaceMeta, "counters were in it; they were set beyond everything that was found"},
	{row.SpaceTable, "descriptors of tables may have been in it, and with one, its table is lost"},
	{row.SpaceStream, "descriptors of streams may have been in it, and with one, its records are lost"},
	{row.SpaceRecord, "stream records may be missing, so what is derived from the stream has to be made again"},
	{row.SpaceToken, "tokens may be missing: a transaction that is repeated now may happen twice"},
}

// reportGaps reports every unreadable range, for each table that it may affect. Rows that were
// rebuilt are not reported.
func (w *writer) reportGaps() {
	tables := slices.SortedFunc(maps.Values(w.tables), func(a, b *layout.Table) int { return strings.Compare(a.Desc.Name, b.Desc.Name) })
	for _, g := range w.gaps {
		reported := false
		for _, t := range tables {
			prefix := row.AppendItemPrefix(nil, t.Desc.ID)
			if !g.overlaps(prefix, row.UpperBound(prefix)) {
				continue
			}
			reported = true
			w.addLoss(Loss{File: g.file, Table: t.Desc.Name, After: itemText(g.after, prefix), Until: itemText(g.until, prefix), Text: g.why + ": items may be missing, or be as they were before"})
		}
		for _, of := range otherSpaces {
			if g.overlaps([]byte{of.space}, []byte{of.space + 1}) {
				reported = true
				w.addLoss(Loss{File: g.file, Text: g.why + ": " + of.means})
			}
		}
		if !reported {
			w.addLoss(Loss{File: g.file, Text: g.why + ": what was in it was made again from the items"})
		}
	}
}

// itemText formats the key of an item in a range, or returns "" if the key is outside the table's
// items.
func itemText(key, prefix []byte) string {
	primary, is := bytes.CutPrefix(key, prefix)
	if !is || len(primary) == 0 {
		return ""
	}
	return inspect.PrimaryText(primary)
}
