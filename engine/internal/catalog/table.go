package catalog

import (
	"encoding/json"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/engine/internal/row"
)

// Key is an attribute of a key with its type: S, N or B. The zero value means none.
type Key struct {
	Name string                    `json:"name,omitempty"`
	Type types.ScalarAttributeType `json:"type,omitempty"`
}

// Keys are the attributes of one key of an index, in order. For compatibility, JSON represents one
// attribute as a Key and none as an empty Key, as when there could be only one.
type Keys []Key

// MaxKeyParts is the maximum number of Keys in a key of a global index.
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

// Table is a table descriptor. It is stored as JSON under the table's name.
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
	Stream     uint32            `json:"stream,omitempty"`  // ID of the enabled stream; 0 if none
	Latest     uint32            `json:"latest,omitempty"`  // ID of the newest stream, enabled or not
	TTL        string            `json:"ttl,omitempty"`     // expiry attribute; "" if expiry is disabled
	Filling    bool              `json:"filling,omitempty"` // expiry rows of existing items are being written
	Guarded    bool              `json:"guarded,omitempty"`
	Class      types.TableClass  `json:"class,omitempty"`
	ClassAt    int64             `json:"classAt,omitempty"`    // when the class was changed, in milliseconds since 1970; 0 if never
	OnDemandAt int64             `json:"onDemandAt,omitempty"` // when the table last switched to on-demand, likewise; 0 means at creation
	Encryption *Encryption       `json:"encryption,omitempty"` // nil for the default key
	Tags       map[string]string `json:"tags,omitempty"`       // replaced, never modified
}

// Index is the descriptor of a secondary index.
type Index struct {
	ID         uint32               `json:"id"`
	Name       string               `json:"name"`
	Local      bool                 `json:"local,omitempty"`
	Hash       Keys                 `json:"hash"`
	Range      Keys                 `json:"range"`
	Projection types.ProjectionType `json:"projection"`
	Include    []string             `json:"include,omitempty"`
	Units
	Building bool `json:"building,omitempty"` // existing items are being added
}

// Clone returns a copy of the descriptor that can be modified.
func (d *Table) Clone() *Table {
	c := *d
	c.Indexes = append([]Index(nil), d.Indexes...)
	return &c
}

// Encode encodes the descriptor for DecodeTable.
func (d *Table) Encode() ([]byte, error) {
	b, err := json.Marshal(d)
	if err != nil {
		return nil, fmt.Errorf("engine: encode table %s: %w", d.Name, err)
	}
	return b, nil
}

// DecodeTable decodes a descriptor. Errors: ErrCorrupt of package row.
func DecodeTable(b []byte) (*Table, error) {
	d := new(Table)
	if err := json.Unmarshal(b, d); err != nil {
		return nil, fmt.Errorf("%w: table descriptor: %w", row.ErrCorrupt, err)
	}
	return d, nil
}

// Keys returns the types of all key attributes of the table and its indexes.
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

// Versions of the store format. A program must support a store's version to open it. A store has
// the first version until it needs a later one.
const (
	FormatFirst     = 1
	FormatManyKeys  = 2 // an index has a key of several attributes
	FormatPostponed = 3 // changes of indexes may be postponed
	FormatSupported = FormatPostponed
)

// Format returns the version that the table requires.
func (d *Table) Format() byte {
	for i := range d.Indexes {
		if len(d.Indexes[i].Hash) > 1 || len(d.Indexes[i].Range) > 1 {
			return FormatManyKeys
		}
	}
	return FormatFirst
}

// Pending reports whether a backfill is unfinished.
func (d *Table) Pending() bool {
	for _, x := range d.Indexes {
		if x.Building {
			return true
		}
	}
	return d.Filling
}
