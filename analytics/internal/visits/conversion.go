package visits

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/internal/decimal"
	"github.com/onefold/onefold/internal/varint"
)

// Conversion says how often a goal was reached. What the goal was when it was reached is a part of it: Goal, Once and
// Value tell one from another. Counts and revenue add up, and may be taken off again.
type Conversion struct {
	Goal    string // id
	Once    bool   // counts once in a visit
	Value   string // decimal: what one is worth; "": the revenue of its events
	Count   int64  // events
	Revenue string // of these events
}

// Conversions are sorted by what tells them from each other. None of them is zero.
type Conversions []Conversion

func (c *Conversion) compare(o *Conversion) int {
	if by := cmp.Or(cmp.Compare(c.Goal, o.Goal), cmp.Compare(c.Value, o.Value)); by != 0 || c.Once == o.Once {
		return by
	}
	if o.Once {
		return -1
	}
	return 1
}

// Of are the conversions of one event, in any order; it may keep all.
func Of(all []Conversion) Conversions {
	slices.SortFunc(all, func(a, b Conversion) int { return a.compare(&b) })
	return slices.CompactFunc(all, func(a, b Conversion) bool { return a.compare(&b) == 0 })
}

// Plus adds conversions. Neither is changed.
func (cs Conversions) Plus(os Conversions) Conversions { return cs.combine(os, +1) }

// Minus takes conversions off. Neither is changed.
func (cs Conversions) Minus(os Conversions) Conversions { return cs.combine(os, -1) }

func (cs Conversions) combine(os Conversions, sign int64) Conversions {
	if len(os) == 0 {
		return cs
	}
	out := make(Conversions, 0, len(cs)+len(os))
	for len(cs) > 0 || len(os) > 0 {
		var next Conversion
		by := 0
		switch {
		case len(os) == 0:
			by = -1
		case len(cs) == 0:
			by = 1
		default:
			by = cs[0].compare(&os[0])
		}
		if by <= 0 {
			next, cs = cs[0], cs[1:]
		}
		if by >= 0 {
			o := os[0]
			os = os[1:]
			next.Goal, next.Once, next.Value = o.Goal, o.Once, o.Value
			next.Count += sign * o.Count
			next.Revenue = decimal.Add(next.Revenue, decimal.Times(o.Revenue, sign))
		}
		if next.Count != 0 || next.Revenue != "" {
			out = append(out, next)
		}
	}
	return out
}

// Worth is what a visit with it counts: conversions, and their revenue.
func (c *Conversion) Worth() (conversions int64, revenue string) {
	conversions = max(c.Count, 0)
	if c.Once {
		conversions = min(conversions, 1)
	}
	if c.Value == "" {
		return conversions, c.Revenue
	}
	return conversions, decimal.Times(c.Value, conversions)
}

// Conversions of an event are one binary attribute (docs/format/analytics.md):
//
//	0x01, then of each, sorted:
//	  uvarint length, bytes   goal
//	  uvarint                 1 if it counts once in a visit, else 0
//	  uvarint length, bytes   value
//	  varint                  events
//	  uvarint length, bytes   revenue
const conversionsVersion = 1

// MarshalDynamoDBAttributeValue stores the conversions as binary.
func (cs Conversions) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	buf := make([]byte, 1, 1+24*len(cs))
	buf[0] = conversionsVersion
	text := func(s string) {
		buf = binary.AppendUvarint(buf, uint64(len(s)))
		buf = append(buf, s...)
	}
	for i := range cs {
		text(cs[i].Goal)
		buf = binary.AppendUvarint(buf, cs[i].once())
		text(cs[i].Value)
		buf = binary.AppendVarint(buf, cs[i].Count)
		text(cs[i].Revenue)
	}
	return &types.AttributeValueMemberB{Value: buf}, nil
}

func (c *Conversion) once() uint64 {
	if c.Once {
		return 1
	}
	return 0
}

// UnmarshalDynamoDBAttributeValue reads what MarshalDynamoDBAttributeValue stored. Errors: ErrMalformed.
func (cs *Conversions) UnmarshalDynamoDBAttributeValue(av types.AttributeValue) error {
	b, ok := av.(*types.AttributeValueMemberB)
	if !ok || len(b.Value) == 0 || b.Value[0] != conversionsVersion {
		return ErrMalformed
	}
	r := varint.NewReader(b.Value[1:])
	text := func() string { return string(r.Bytes(r.Uint())) }
	*cs = nil
	for r.More() {
		*cs = append(*cs, Conversion{text(), r.Uint() == 1, text(), r.Int(), text()})
	}
	if r.Failed() {
		return ErrMalformed
	}
	return nil
}
