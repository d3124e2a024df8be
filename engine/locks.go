package engine

import (
	"slices"
	"sync"

	"github.com/cespare/xxhash/v2"
)

const lockStripes = 4096

// stripes are the locks of items: whoever reads an item in order to write it holds the item's stripe until the write is
// applied (not until it is on disk). A request with several items takes their stripes in ascending order.
type stripes [lockStripes]struct {
	sync.Mutex
	_ [56]byte // one cache line each
}

// stripeOf returns the stripe of an item by its key.
func stripeOf(itemKey []byte) uint32 { return uint32(xxhash.Sum64(itemKey) % lockStripes) }

// lockAll locks the stripes of a request, each once, and leaves ids sorted and without repetition.
func (l *stripes) lockAll(ids []uint32) []uint32 {
	slices.Sort(ids)
	ids = slices.Compact(ids)
	for _, id := range ids {
		l[id].Lock()
	}
	return ids
}

func (l *stripes) unlockAll(ids []uint32) {
	for _, id := range ids {
		l[id].Unlock()
	}
}
