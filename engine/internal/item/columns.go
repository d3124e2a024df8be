package item

import "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

// Columns passes selected attributes of many items to a function, one item at a time, without
// making maps.
type Columns struct {
	names  []string
	visit  func([]types.AttributeValue) error
	values []types.AttributeValue
}

// NewColumns returns Columns that pass the named attributes to visit. The names must be sorted and
// distinct.
func NewColumns(names []string, visit func([]types.AttributeValue) error) *Columns {
	return &Columns{names, visit, make([]types.AttributeValue, len(names))}
}

// Row passes on the attributes of an encoded item. Errors: ErrCorrupt, as in Decode, and those of
// visit.
func (c *Columns) Row(d *Decoder, b []byte) error {
	if d.size.values == 0 {
		d.size = many
	}
	r, err := open(d.keep(b))
	if err != nil {
		return err
	}
	r.d = d
	clear(c.values)
	at := 0 // index in names
	for range r.count(2) {
		name := r.text()
		for at < len(c.names) && c.names[at] < name {
			at++
		}
		if at == len(c.names) || c.names[at] != name {
			r.skip()
			continue
		}
		c.values[at] = r.value(0)
		at++
	}
	if r.bad || r.pos != len(r.s) {
		return ErrCorrupt
	}
	return c.visit(c.values)
}

// Item passes on the attributes of a decoded item.
func (c *Columns) Item(it Item) error {
	for i, name := range c.names {
		c.values[i] = it[name]
	}
	return c.visit(c.values)
}
