package fold

import (
	"sync/atomic"

	"github.com/hashicorp/golang-lru/v2"
)

// cache holds the states that a worker wrote last, so that a busy item need not be loaded at every
// flush. Entries are never invalidated: a write based on an outdated state fails its version
// condition. Using a state removes it from the cache; writing it puts it back.
type cache struct {
	lru *lru.Cache[string, *stored]
	newItemRate
}

// newCache returns a cache for size states. 0 means defaultCache; a negative size disables the
// cache.
func newCache(size int) *cache {
	if size < 0 {
		return &cache{}
	}
	if size == 0 {
		size = defaultCache
	}
	l, err := lru.New[string, *stored](size)
	if err != nil { // only for a size of zero or less
		return &cache{}
	}
	return &cache{lru: l}
}

// disable disables the cache.
func (c *cache) disable() { c.lru = nil }

// take removes a state from the cache and returns it, or nil if it is absent. Because the merge
// that follows modifies the state in place, no second delta may obtain it.
func (c *cache) take(id string) *stored {
	if c.lru == nil {
		return nil
	}
	s, ok := c.lru.Peek(id)
	if !ok {
		return nil
	}
	c.lru.Remove(id)
	return s
}

func (c *cache) put(id string, s *stored) {
	if c.lru != nil {
		c.lru.Add(id, s)
	}
}

// newItemRate counts how many of the recently used items that were not in memory turned out to be new
// (fresh) or stored already (known). See ExpectNew.
type newItemRate struct {
	fresh, known atomic.Int64
}

const (
	rateFirst = 16   // fresh items assumed before any is counted
	rateMost  = 1024 // counts beyond this are halved, so that old ones fade
)

// expects reports whether at least the given share of the counted items were new. Only one
// goroutine may call it; saw may run concurrently.
func (o *newItemRate) expects(share float64) bool {
	fresh, known := o.fresh.Load(), o.known.Load()
	if fresh+known > rateMost {
		o.fresh.Add(-fresh / 2)
		o.known.Add(-known / 2)
	}
	fresh += rateFirst
	return float64(fresh) >= share*float64(fresh+known)
}

// record counts an item as new or as already stored.
func (o *newItemRate) record(fresh bool) {
	if fresh {
		o.fresh.Add(1)
	} else {
		o.known.Add(1)
	}
}
