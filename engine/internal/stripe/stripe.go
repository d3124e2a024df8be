// Package stripe implements locks for many keys with a fixed number of mutexes. The engine uses it
// for items and idempotency tokens.
package stripe

import (
	"slices"
	"sync"

	"github.com/cespare/xxhash/v2"
)

const stripes = 4096

// Set is a set of locks for keys. A writer that reads an item holds the item's stripe until the
// write is applied (not until it is on disk). Requests with several items take their stripes in
// ascending order, which avoids deadlocks.
type Set [stripes]struct {
	sync.Mutex
	_ [56]byte // so that each has its own cache line
}

// Of returns the stripe of a key.
func Of(key []byte) uint32 { return uint32(xxhash.Sum64(key) % stripes) }

// LockAll locks stripes, each once. It returns ids sorted and without duplicates.
func (s *Set) LockAll(ids []uint32) []uint32 {
	slices.Sort(ids)
	ids = slices.Compact(ids)
	for _, id := range ids {
		s[id].Lock()
	}
	return ids
}

// UnlockAll unlocks the stripes locked by LockAll.
func (s *Set) UnlockAll(ids []uint32) {
	for _, id := range ids {
		s[id].Unlock()
	}
}
