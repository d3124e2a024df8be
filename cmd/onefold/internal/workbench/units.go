package workbench

import (
	"cmp"
	"maps"
	"slices"
)

// Units are write units by the kind of item, with its indexes.
type Units map[string]float64

// Total is the units of all kinds.
func (u Units) Total() (sum float64) {
	for _, n := range u {
		sum += n
	}
	return sum
}

// Per are the units of one of n.
func (u Units) Per(n float64) Units {
	each := make(Units, len(u))
	for kind, units := range u {
		each[kind] = units / n
	}
	return each
}

// less are the units beyond those of before.
func (u Units) less(before Units) Units {
	for kind, units := range before {
		u[kind] -= units
	}
	return u
}

// least is the least of a kind that has a row of its own.
const least = 0.005

// Results are a row of the total, and below it one for each kind, those first that take most.
func (u Units) Results(total Result) []Result {
	total.Unit, total.Value = "write units", u.Total()
	all := []Result{total}
	rest := 0.0
	for _, kind := range slices.SortedFunc(maps.Keys(u), func(a, b string) int { return cmp.Or(cmp.Compare(u[b], u[a]), cmp.Compare(a, b)) }) {
		if u[kind] < least {
			rest += u[kind]
			continue
		}
		all = append(all, Result{Name: "  of these, " + kind + " items", Unit: total.Unit, Value: u[kind]})
	}
	return append(all, Result{Name: "  of these, all others", Unit: total.Unit, Value: rest})
}
