package tally

import (
	"cmp"
	"slices"
)

// Limits of a bounded set: the number of values and the total bytes of their names.
const (
	MaxValues = 1000
	MaxBytes  = 64 << 10
)

// Bounded is a limited set of values, with an exact rest for all others.
type Bounded struct {
	Values *Values // at most Most values, with names of at most MaxBytes
	Other  *Count  // total of the values that did not fit
	Full   *bool   // never reset once set
	Most   int     // maximum number of values; 0: MaxValues
}

// Merge adds a delta. While there is room, every value is kept, and a value whose count reaches
// zero is removed, so the order of merges does not matter. Once a value does not fit, the set is
// full for good: its values stay, even at zero, and all other values, now and later, count in
// Other. So the count of a value in the set is never split, and values and rest always add up
// exactly.
func (b Bounded) Merge(delta Values) {
	if *b.Values == nil {
		*b.Values = make(Values, len(delta))
	}
	values, fresh := *b.Values, b.fresh(delta)
	size := 0
	for v := range values {
		size += len(v)
	}
	b.rank(fresh, delta, size)
	for v, c := range delta {
		if have, ok := values[v]; ok {
			b.set(v, have.Plus(c))
		}
	}
	for _, v := range fresh {
		if size += len(v); len(values) >= b.most() || size > MaxBytes {
			*b.Full = true
		}
		if *b.Full {
			*b.Other = b.Other.Plus(delta[v])
			continue
		}
		values[v] = delta[v]
	}
}

func (b Bounded) most() int { return cmp.Or(b.Most, MaxValues) }

func (b Bounded) set(value string, c Count) {
	if c == (Count{}) && !*b.Full {
		delete(*b.Values, value)
		return
	}
	(*b.Values)[value] = c
}

// fresh lists the values of a delta that are not in the set.
func (b Bounded) fresh(delta Values) (fresh []string) {
	for v, c := range delta {
		if _, ok := (*b.Values)[v]; !ok && c != (Count{}) {
			fresh = append(fresh, v)
		}
	}
	return fresh
}

// rank sorts fresh values by count, greatest first, if not all of them will fit. size is the length
// of the names already in the set.
func (b Bounded) rank(fresh []string, delta Values, size int) {
	for _, v := range fresh {
		size += len(v)
	}
	if *b.Full || len(*b.Values)+len(fresh) <= b.most() && size <= MaxBytes {
		return
	}
	slices.SortFunc(fresh, func(x, y string) int {
		return cmp.Or(cmp.Compare(delta[y].weight(), delta[x].weight()), cmp.Compare(x, y))
	})
}
