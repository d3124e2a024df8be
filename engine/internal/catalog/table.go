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
	Read    int64             `json:"read,omitempty"`    // provisioned units
	Write   int64             `json:"write,omitempty"`   // provisioned units
	Stream  uint32            `json:"stream,omitempty"`  // id of the enabled stream, 0 for none
	Latest  uint32            `json:"latest,omitempty"`  // id of the newest stream, enabled or not
	TTL     string            `json:"ttl,omitempty"`     // the expiry attribute, "" when disabled
	Filling bool              `json:"filling,omitempty"` // expiry rows of existing items are still being made
	Guarded bool              `json:"guarded,omitempty"`
	Class   types.TableClass  `json:"class,omitempty"`
}

// Index is a secondary index as stored.
type Index struct {
	ID         uint32               `json:"id"`
	Name       string               `json:"name"`
	Local      bool                 `json:"local,omitempty"`
	Hash       Key                  `json:"hash"`
	Range      Key                  `json:"range"`
	Projection types.ProjectionType `json:"projection"`
	Include    []string             `json:"include,omitempty"`
	Read       int64                `json:"read,omitempty"`
	Write      int64                `json:"write,omitempty"`
	Building   bool                 `json:"building,omitempty"` // existing items are still being added
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
	add := func(k Key) {
		if k.Name != "" {
			keys[k.Name] = k.Type
		}
	}
	add(d.Hash)
	add(d.Range)
	for _, x := range d.Indexes {
		add(x.Hash)
		add(x.Range)
	}
	return keys
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
