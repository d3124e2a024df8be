package accesslog

import "hash/maphash"

const (
	internSlots  = 1 << 13 // a power of two
	internLength = 512     // longer strings are not cached; five interners hold at most 20 MiB
)

// interner returns the same string for the same bytes without allocating it again. It is a table
// with one slot per hash: a new string replaces the previous one, so memory is bounded and nothing
// needs eviction. The zero value is an empty cache.
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
	// Bytes that are not valid UTF-8 never equal a cached string, so they are repaired each time,
	// which is rare.
	if *slot != string(b) {
		*slot = valid(b)
	}
	return *slot
}
