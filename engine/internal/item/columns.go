package item

import "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

// Columns hands on some attributes of many items, one item after the other, and makes no maps of them.
type Columns struct {
	names  []string
	visit  func([]types.AttributeValue) error
	values []types.AttributeValue
}

// NewColumns hands the attributes of these names, which are in order and different, to visit.
func NewColumns(names []string, visit func([]types.AttributeValue) error) *Columns {
	return &Columns{names, visit, make([]types.AttributeValue, len(names))}
}

// Row hands on the item that Append wrote. Faults of its bytes are ErrCorrupt, as Decode's are.
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
	at := 0 // in names
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

// Item hands on an item that was decoded.
func (c *Columns) Item(it Item) error {
	for i, name := range c.names {
		c.values[i] = it[name]
	}
	return c.visit(c.values)
}
