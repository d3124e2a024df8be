package visits

import (
	"cmp"
	"slices"

	"github.com/onefold/onefold/internal/decimal"
)

// Conversion is how often a goal was reached. Goal, Once and Value identify it: the same goal with
// another definition is another conversion. Counts and revenue can be added and subtracted.
type Conversion struct {
	Goal    string // goal ID
	Once    bool   // at most one conversion per visit
	Value   string // decimal worth of one; "": the revenue of its events
	Count   int64  // events
	Revenue string // of these events
}

// Conversions are sorted by Goal, Value and Once. None of them is zero.
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

// Of returns the conversions of one event, given in any order. It may keep and modify all.
func Of(all []Conversion) Conversions {
	slices.SortFunc(all, func(a, b Conversion) int { return a.compare(&b) })
	return slices.CompactFunc(all, func(a, b Conversion) bool { return a.compare(&b) == 0 })
}

// Plus returns the sum of cs and os. Neither is modified.
func (cs Conversions) Plus(os Conversions) Conversions { return cs.combine(os, +1) }

// Minus returns cs minus os. Neither is modified.
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

// Worth returns the conversions that a visit counts, and their revenue.
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

func (c *Conversion) once() uint64 {
	if c.Once {
		return 1
	}
	return 0
}
