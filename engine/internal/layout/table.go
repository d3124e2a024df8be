package layout

import (
	"encoding/binary"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/cespare/xxhash/v2"

	"github.com/onefold/onefold/engine/internal/catalog"
	"github.com/onefold/onefold/engine/internal/item"
	"github.com/onefold/onefold/engine/internal/keyenc"
	"github.com/onefold/onefold/engine/internal/row"
)

// Table is a table descriptor prepared for use. It is immutable.
type Table struct {
	Desc    *catalog.Table
	Hash    catalog.Key
	Range   catalog.Key // zero value if there is none
	Indexes []*Index
}

// Index is an index descriptor prepared for use.
type Index struct {
	Desc    catalog.Index
	Hash    catalog.Keys    // at least one
	Range   catalog.Keys    // none or more
	Prefix  []byte          // prefix of its rows' keys
	Project map[string]bool // attributes of an entry; nil: all
	Ordinal int             // position among the table's indexes
}

// New prepares a descriptor for use.
func New(d *catalog.Table) *Table {
	t := &Table{Desc: d, Hash: d.Hash, Range: d.Range}
	for i := range d.Indexes {
		t.Indexes = append(t.Indexes, newIndex(d, d.Indexes[i], i))
	}
	return t
}

func newIndex(d *catalog.Table, x catalog.Index, ordinal int) *Index {
	idx := &Index{Desc: x, Hash: x.Hash, Range: x.Range, Prefix: row.AppendIndexPrefix(nil, d.ID, x.ID), Ordinal: ordinal}
	if x.Projection == types.ProjectionTypeAll {
		return idx
	}
	idx.Project = map[string]bool{}
	for _, name := range x.Include {
		idx.Project[name] = true
	}
	for _, a := range keyAttrs(idx.Hash, idx.Range, catalog.Keys{d.Hash, d.Range}) {
		idx.Project[a.Name] = true
	}
	return idx
}

// Find returns an index by name, or nil.
func (t *Table) Find(name string) *Index {
	for _, x := range t.Indexes {
		if x.Desc.Name == name {
			return x
		}
	}
	return nil
}

// HasLocal reports whether the table has a local index, and therefore item collections.
func (t *Table) HasLocal() bool {
	for _, x := range t.Indexes {
		if x.Desc.Local {
			return true
		}
	}
	return false
}

// PrimaryKey returns the table key attributes of an item.
func (t *Table) PrimaryKey(it item.Item) item.Item {
	k := item.Item{t.Hash.Name: it[t.Hash.Name]}
	if t.Range.Name != "" {
		k[t.Range.Name] = it[t.Range.Name]
	}
	return k
}

// hashBytes is the number of bytes of a partition key's hash, which precede the key.
const hashBytes = 4

// appendPartition appends the hash of a partition key and its values.
func appendPartition(dst []byte, values ...types.AttributeValue) (_ []byte, err error) {
	at := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	for _, v := range values {
		if dst, err = keyenc.Append(dst, v); err != nil {
			return nil, err
		}
	}
	binary.BigEndian.PutUint32(dst[at:], uint32(xxhash.Sum64(dst[at+hashBytes:])>>32))
	return dst, nil
}

// AppendPrimary appends the hash, partition key and sort key of an item.
func (t *Table) AppendPrimary(dst []byte, it item.Item) ([]byte, error) {
	dst, err := appendPartition(dst, it[t.Hash.Name])
	if err != nil || t.Range.Name == "" {
		return dst, err
	}
	return keyenc.Append(dst, it[t.Range.Name])
}

// AppendItemKey appends the complete row key of an item.
func (t *Table) AppendItemKey(dst []byte, it item.Item) ([]byte, error) {
	return t.AppendPrimary(row.AppendItemPrefix(dst, t.Desc.ID), it)
}

// Covers reports whether an item has all keys of the index, so that the index has an entry for it.
// Attributes that existed before the index and are not valid keys do not count.
func (x *Index) Covers(it item.Item) bool {
	return it != nil && hasKeys(it, x.Hash, true) && hasKeys(it, x.Range, false)
}

func hasKeys(it item.Item, keys catalog.Keys, hash bool) bool {
	for _, a := range keys {
		v := it[a.Name]
		if v == nil {
			return false
		}
		if size, ok := catalog.KeySize(v, a.Type); !ok || size == 0 || catalog.CheckKeySize(size, hash) != nil {
			return false
		}
	}
	return true
}

// Entry returns the part of an item that the index stores.
func (x *Index) Entry(it item.Item) item.Item {
	if x.Project == nil {
		return it
	}
	e := make(item.Item, len(x.Project))
	for name := range x.Project {
		if v, ok := it[name]; ok {
			e[name] = v
		}
	}
	return e
}

// AppendRow appends the key of an item's entry. primary is the item's primary key bytes: hash,
// partition, sort.
func (x *Index) AppendRow(dst []byte, it item.Item, primary []byte) (_ []byte, err error) {
	var scratch [catalog.MaxKeyParts]types.AttributeValue
	values := scratch[:0]
	for _, a := range x.Hash {
		values = append(values, it[a.Name])
	}
	if dst, err = appendPartition(append(dst, x.Prefix...), values...); err != nil {
		return nil, err
	}
	for _, a := range x.Range {
		if dst, err = keyenc.Append(dst, it[a.Name]); err != nil {
			return nil, err
		}
	}
	return append(dst, primary...), nil
}

// Primary returns the primary key bytes at the end of an entry's key. ok is false if the key is
// invalid.
func (x *Index) Primary(key []byte) (primary []byte, ok bool) {
	rest := key[len(x.Prefix):]
	if len(rest) < hashBytes {
		return nil, false
	}
	rest = rest[hashBytes:]
	for range len(x.Hash) + len(x.Range) {
		var err error
		if rest, err = keyenc.Skip(rest); err != nil {
			return nil, false
		}
	}
	return rest, len(rest) > hashBytes
}

// KeyAttrs returns the attributes that identify a row of the index, or of the table if x is nil:
// the keys of the index and the table, each once.
func (t *Table) KeyAttrs(x *Index) catalog.Keys {
	own := catalog.Keys{t.Hash, t.Range}
	if x == nil {
		return keyAttrs(own)
	}
	return keyAttrs(x.Hash, x.Range, own)
}

func keyAttrs(lists ...catalog.Keys) catalog.Keys {
	var attrs catalog.Keys
	seen := map[string]bool{"": true}
	for _, list := range lists {
		for _, a := range list {
			if !seen[a.Name] {
				seen[a.Name] = true
				attrs = append(attrs, a)
			}
		}
	}
	return attrs
}
