package tally

import (
	"cmp"
	"slices"
)

// The most values that a bounded set holds, and the bytes that their names may have.
const (
	MaxValues = 1000
	MaxBytes  = 64 << 10
)

// Bounded is a set of values with the exact rest of those that found no place.
type Bounded struct {
	Values *Values // at most Most, of at most MaxBytes
	Other  *Count  // counts together what found no place
	Full   *bool   // once full, always full
	Most   int     // how many values have a place; 0: MaxValues
}

// Merge adds a delta. While there is room, every value gets a place and values that come to zero lose theirs: order
// does not matter. Once a value finds no room the set is full for good: those that have a place keep it, even at zero,
// and what is new, now and later, is counted in the rest. So a value's count is never divided after it has a place,
// and values and rest always add up exactly.
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

// fresh lists the values of a delta that have no place yet.
func (b Bounded) fresh(delta Values) (fresh []string) {
	for v, c := range delta {
		if _, ok := (*b.Values)[v]; !ok && c != (Count{}) {
			fresh = append(fresh, v)
		}
	}
	return fresh
}

// rank puts the fresh values with the greatest counts first when not all of them will find a place beside those there
// are, whose names have size bytes.
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
