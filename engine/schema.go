package engine

import (
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/engine/internal/item"
)

// keyAttr is an attribute that is part of a key, with its type: S, N or B. The zero value is no attribute.
type keyAttr struct {
	Name string                    `json:"name,omitempty"`
	Type types.ScalarAttributeType `json:"type,omitempty"`
}

// tableDesc is a table as stored, in JSON, under its name.
type tableDesc struct {
	ID      uint32            `json:"id"`
	Name    string            `json:"name"`
	UUID    string            `json:"uuid"`
	Created int64             `json:"created"` // milliseconds since 1970
	Hash    keyAttr           `json:"hash"`
	Range   keyAttr           `json:"range"`
	Indexes []indexDesc       `json:"indexes,omitempty"`
	Billing types.BillingMode `json:"billing"`
	Read    int64             `json:"read,omitempty"`    // provisioned units
	Write   int64             `json:"write,omitempty"`   // provisioned units
	Stream  uint32            `json:"stream,omitempty"`  // id of the enabled stream, 0 for none
	Latest  uint32            `json:"latest,omitempty"`  // id of the newest stream, enabled or not
	TTL     string            `json:"ttl,omitempty"`     // the expiry attribute, "" when disabled
	Filling bool              `json:"filling,omitempty"` // expiry rows of existing items are still being made
	Guarded bool              `json:"guarded,omitempty"`
	Class   types.TableClass  `json:"class,omitempty"`
}

// indexDesc is a secondary index as stored.
type indexDesc struct {
	ID         uint32               `json:"id"`
	Name       string               `json:"name"`
	Local      bool                 `json:"local,omitempty"`
	Hash       keyAttr              `json:"hash"`
	Range      keyAttr              `json:"range"`
	Projection types.ProjectionType `json:"projection"`
	Include    []string             `json:"include,omitempty"`
	Read       int64                `json:"read,omitempty"`
	Write      int64                `json:"write,omitempty"`
	Building   bool                 `json:"building,omitempty"` // existing items are still being added
}

// index is a secondary index ready for use.
type index struct {
	desc    indexDesc
	hash    keyAttr
	rng     keyAttr
	prefix  []byte
	project map[string]bool // attributes in an entry; nil: all
	ordinal int             // position among the table's indexes
}

// schema is everything about a table that an operation needs. It is immutable: a change publishes a new one.
type schema struct {
	desc    *tableDesc
	table   *table
	hash    keyAttr
	rng     keyAttr
	indexes []*index
	keys    map[string]types.ScalarAttributeType // attributes of the table's and indexes' keys
	stream  *stream                              // nil when disabled
	arn     string
}

// table is one table. An operation holds gate for reading while it writes, so that whoever changes the schema can wait
// until all writers use the new one.
type table struct {
	gate   sync.RWMutex
	schema atomic.Pointer[schema]
	items  atomic.Int64 // number of items
	bytes  atomic.Int64 // their size by DynamoDB's rule
	meter  *tableMeter
}

// newSchema prepares a descriptor for use.
func newSchema(t *table, d *tableDesc, st *stream, arn string) *schema {
	s := &schema{desc: d, table: t, hash: d.Hash, rng: d.Range, stream: st, arn: arn, keys: map[string]types.ScalarAttributeType{}}
	s.addKeys(d.Hash, d.Range)
	for i, x := range d.Indexes {
		s.addKeys(x.Hash, x.Range)
		s.indexes = append(s.indexes, newIndex(d, x, i))
	}
	return s
}

func (s *schema) addKeys(attrs ...keyAttr) {
	for _, a := range attrs {
		if a.Name != "" {
			s.keys[a.Name] = a.Type
		}
	}
}

func newIndex(d *tableDesc, x indexDesc, ordinal int) *index {
	idx := &index{desc: x, hash: x.Hash, rng: x.Range, prefix: appendIndexPrefix(nil, d.ID, x.ID), ordinal: ordinal}
	if x.Projection == types.ProjectionTypeAll {
		return idx
	}
	idx.project = map[string]bool{}
	for _, name := range x.Include {
		idx.project[name] = true
	}
	for _, a := range []keyAttr{d.Hash, d.Range, x.Hash, x.Range} {
		if a.Name != "" {
			idx.project[a.Name] = true
		}
	}
	return idx
}

// covers reports whether an item has all keys of the index, so that the index has an entry for it.
func (x *index) covers(it item.Item) bool {
	if it == nil || it[x.hash.Name] == nil {
		return false
	}
	return x.rng.Name == "" || it[x.rng.Name] != nil
}

// entry returns what the index keeps of an item.
func (x *index) entry(it item.Item) item.Item {
	if x.project == nil {
		return it
	}
	e := make(item.Item, len(x.project))
	for name := range x.project {
		if v, ok := it[name]; ok {
			e[name] = v
		}
	}
	return e
}

// find returns an index by name.
func (s *schema) find(name string) *index {
	for _, x := range s.indexes {
		if x.desc.Name == name {
			return x
		}
	}
	return nil
}

// primaryKey returns the attributes of it that are the table's key.
func (s *schema) primaryKey(it item.Item) item.Item {
	k := item.Item{s.hash.Name: it[s.hash.Name]}
	if s.rng.Name != "" {
		k[s.rng.Name] = it[s.rng.Name]
	}
	return k
}

// clone copies a descriptor so that it can be changed.
func (d *tableDesc) clone() *tableDesc {
	c := *d
	c.Indexes = append([]indexDesc(nil), d.Indexes...)
	return &c
}

func (d *tableDesc) encode() ([]byte, error) {
	b, err := json.Marshal(d)
	if err != nil {
		return nil, fmt.Errorf("engine: encode table %s: %w", d.Name, err)
	}
	return b, nil
}

func decodeTable(b []byte) (*tableDesc, error) {
	d := new(tableDesc)
	if err := json.Unmarshal(b, d); err != nil {
		return nil, fmt.Errorf("%w: table descriptor: %w", ErrCorrupt, err)
	}
	return d, nil
}

// typeOf returns DynamoDB's name of a value's type.
func typeOf(v types.AttributeValue) string {
	switch v.(type) {
	case *types.AttributeValueMemberS:
		return "S"
	case *types.AttributeValueMemberN:
		return "N"
	case *types.AttributeValueMemberB:
		return "B"
	case *types.AttributeValueMemberBOOL:
		return "BOOL"
	case *types.AttributeValueMemberNULL:
		return "NULL"
	case *types.AttributeValueMemberM:
		return "M"
	case *types.AttributeValueMemberL:
		return "L"
	case *types.AttributeValueMemberSS:
		return "SS"
	case *types.AttributeValueMemberNS:
		return "NS"
	case *types.AttributeValueMemberBS:
		return "BS"
	}
	return ""
}
