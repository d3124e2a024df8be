// Package stripe holds the locks of many keys in a fixed number of mutexes. The engine takes them for items and for
// idempotency tokens.
package stripe

import (
	"slices"
	"sync"

	"github.com/cespare/xxhash/v2"
)

const stripes = 4096

// Set is the locks of keys: whoever reads an item in order to write it holds the item's stripe until the write is applied
// (not until it is on disk). A request with several items takes their stripes in ascending order.
type Set [stripes]struct {
	sync.Mutex
	_ [56]byte // one cache line each
}

// Of returns the stripe of a key.
func Of(key []byte) uint32 { return uint32(xxhash.Sum64(key) % stripes) }

// LockAll locks stripes, each once, and leaves ids sorted and without repetition.
func (s *Set) LockAll(ids []uint32) []uint32 {
	slices.Sort(ids)
	ids = slices.Compact(ids)
	for _, id := range ids {
		s[id].Lock()
	}
	return ids
}

// UnlockAll unlocks what LockAll has locked.
func (s *Set) UnlockAll(ids []uint32) {
	for _, id := range ids {
		s[id].Unlock()
	}
}
