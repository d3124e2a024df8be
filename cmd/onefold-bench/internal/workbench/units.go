package workbench

import (
	"cmp"
	"maps"
	"slices"
)

// Units are write units by kind of item, including indexes.
type Units map[string]float64

// Total returns the units of all kinds.
func (u Units) Total() (sum float64) {
	for _, n := range u {
		sum += n
	}
	return sum
}

// Per returns the units divided by n.
func (u Units) Per(n float64) Units {
	each := make(Units, len(u))
	for kind, units := range u {
		each[kind] = units / n
	}
	return each
}

// less subtracts earlier units.
func (u Units) less(before Units) Units {
	for kind, units := range before {
		u[kind] -= units
	}
	return u
}

// least is the minimum for a kind to get its own row.
const least = 0.005

// Results returns a row with the total, then one per kind, largest first.
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
