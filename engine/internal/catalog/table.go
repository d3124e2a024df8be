package catalog

import (
	"encoding/json"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/engine/internal/row"
)

// Key is an attribute that is part of a key, with its type: S, N or B. The zero value is no attribute.
type Key struct {
	Name string                    `json:"name,omitempty"`
	Type types.ScalarAttributeType `json:"type,omitempty"`
}

// Keys are the attributes of one key of an index, in order. In JSON one of them is written as a Key, and none as an
// empty one, as they were when there could not be more.
type Keys []Key

// MaxKeyParts is how many Keys a key of a global index may have.
const MaxKeyParts = 4

// MarshalJSON implements json.Marshaler.
func (k Keys) MarshalJSON() ([]byte, error) {
	switch len(k) {
	case 0:
		return json.Marshal(Key{})
	case 1:
		return json.Marshal(k[0])
	}
	return json.Marshal([]Key(k))
}

// UnmarshalJSON implements json.Unmarshaler.
func (k *Keys) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '[' {
		return json.Unmarshal(b, (*[]Key)(k))
	}
	var one Key
	if err := json.Unmarshal(b, &one); err != nil {
		return err
	}
	if *k = nil; one.Name != "" {
		*k = Keys{one}
	}
	return nil
}

// Has reports whether an attribute is one of the keys.
func (k Keys) Has(name string) bool {
	for i := range k {
		if k[i].Name == name {
			return true
		}
	}
	return false
}

// Table is a table as stored, in JSON, under its name.
type Table struct {
	ID      uint32            `json:"id"`
	Name    string            `json:"name"`
	UUID    string            `json:"uuid"`
	Created int64             `json:"created"` // milliseconds since 1970
	Hash    Key               `json:"hash"`
	Range   Key               `json:"range"`
	Indexes []Index           `json:"indexes,omitempty"`
	Billing types.BillingMode `json:"billing"`
	Units
	Stream     uint32            `json:"stream,omitempty"`  // id of the enabled stream, 0 for none
	Latest     uint32            `json:"latest,omitempty"`  // id of the newest stream, enabled or not
	TTL        string            `json:"ttl,omitempty"`     // the expiry attribute, "" when disabled
	Filling    bool              `json:"filling,omitempty"` // expiry rows of existing items are still being made
	Guarded    bool              `json:"guarded,omitempty"`
	Class      types.TableClass  `json:"class,omitempty"`
	ClassAt    int64             `json:"classAt,omitempty"`    // when the class was changed, in milliseconds since 1970; 0 for never
	OnDemandAt int64             `json:"onDemandAt,omitempty"` // when it was last switched to on demand, likewise; 0 for at its creation
	Encryption *Encryption       `json:"encryption,omitempty"` // nil for the default
	Tags       map[string]string `json:"tags,omitempty"`       // replaced, never changed
}

// Index is a secondary index as stored.
type Index struct {
	ID         uint32               `json:"id"`
	Name       string               `json:"name"`
	Local      bool                 `json:"local,omitempty"`
	Hash       Keys                 `json:"hash"`
	Range      Keys                 `json:"range"`
	Projection types.ProjectionType `json:"projection"`
	Include    []string             `json:"include,omitempty"`
	Units
	Building bool `json:"building,omitempty"` // existing items are still being added
}

// Clone copies a descriptor so that it can be changed.
func (d *Table) Clone() *Table {
	c := *d
	c.Indexes = append([]Index(nil), d.Indexes...)
	return &c
}

// Encode returns the bytes that DecodeTable reads.
func (d *Table) Encode() ([]byte, error) {
	b, err := json.Marshal(d)
	if err != nil {
		return nil, fmt.Errorf("engine: encode table %s: %w", d.Name, err)
	}
	return b, nil
}

// DecodeTable reads what Encode wrote.
func DecodeTable(b []byte) (*Table, error) {
	d := new(Table)
	if err := json.Unmarshal(b, d); err != nil {
		return nil, fmt.Errorf("%w: table descriptor: %w", row.ErrCorrupt, err)
	}
	return d, nil
}

// Keys returns the types of the attributes of the table's and the indexes' keys.
func (d *Table) Keys() map[string]types.ScalarAttributeType {
	keys := map[string]types.ScalarAttributeType{}
	add := func(list ...Key) {
		for _, k := range list {
			if k.Name != "" {
				keys[k.Name] = k.Type
			}
		}
	}
	add(d.Hash, d.Range)
	for _, x := range d.Indexes {
		add(x.Hash...)
		add(x.Range...)
	}
	return keys
}

func (d *Table) hashKeys() Keys { return Keys{d.Hash} }

func (d *Table) rangeKeys() Keys {
	if d.Range.Name == "" {
		return nil
	}
	return Keys{d.Range}
}

// Versions of the store's format: what a program must know to open it. A store has the first until it needs more.
const (
	FormatFirst     = 1
	FormatManyKeys  = 2 // an index has a key of several attributes
	FormatPostponed = 3 // changes of indexes may be postponed
	FormatSupported = FormatPostponed
)

// Format returns the version that the table needs.
func (d *Table) Format() byte {
	for i := range d.Indexes {
		if len(d.Indexes[i].Hash) > 1 || len(d.Indexes[i].Range) > 1 {
			return FormatManyKeys
		}
	}
	return FormatFirst
}

// Pending reports whether a backfill is to be done.
func (d *Table) Pending() bool {
	for _, x := range d.Indexes {
		if x.Building {
			return true
		}
	}
	return d.Filling
}
