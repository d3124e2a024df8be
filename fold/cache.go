package fold

import (
	"sync/atomic"

	"github.com/hashicorp/golang-lru/v2"
)

// cache holds the states that were written last, so that a busy item is not loaded at every flush. It needs no
// invalidation: a write on top of an outdated state fails its version condition. A state leaves the cache when it is
// used and comes back when it is written.
type cache struct {
	lru *lru.Cache[string, *stored]
	odds
}

// newCache makes a cache for size states; 0 is the default, a negative size keeps none.
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

// keepNothing makes it a cache of no states.
func (c *cache) keepNothing() { c.lru = nil }

// take returns a state and removes it.
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

// odds count how many of the items that were not in memory were new, and how many there already, of late.
type odds struct {
	fresh, known atomic.Int64
}

const (
	oddsFirst = 16   // new ones that are taken for seen at first
	oddsMost  = 1024 // items that are remembered; then half are forgotten
)

// expects reports whether at least a share of items were new. It is called by one goroutine.
func (o *odds) expects(share float64) bool {
	fresh, known := o.fresh.Load(), o.known.Load()
	if fresh+known > oddsMost {
		o.fresh.Add(-fresh / 2)
		o.known.Add(-known / 2)
	}
	fresh += oddsFirst
	return float64(fresh) >= share*float64(fresh+known)
}

// saw counts an item.
func (o *odds) saw(fresh bool) {
	if fresh {
		o.fresh.Add(1)
	} else {
		o.known.Add(1)
	}
}
