package accesslog

import "hash/maphash"

const (
	internSlots  = 1 << 13 // a power of two
	internLength = 512     // longer strings are not worth keeping; five interners hold at most 20 MiB
)

// interner returns the same string for the same bytes without allocating it again. It is a table with one place per
// hash: a newcomer takes the place of whoever was there, so its memory is bounded and nothing has to be evicted. The
// zero value keeps nothing.
type interner struct {
	seed  maphash.Seed
	slots []string
}

func newInterner() interner {
	return interner{seed: maphash.MakeSeed(), slots: make([]string, internSlots)}
}

// get returns b as a string of valid UTF-8.
func (in *interner) get(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	if len(b) > internLength || in.slots == nil {
		return valid(b)
	}
	slot := &in.slots[maphash.Bytes(in.seed, b)%internSlots]
	// Bytes that are not valid UTF-8 never equal what was kept, so they are made valid each time: rare, and right.
	if *slot != string(b) {
		*slot = valid(b)
	}
	return *slot
}
