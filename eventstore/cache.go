package eventstore

import (
	lru "github.com/hashicorp/golang-lru/v2"
)

// A Cache keeps recently loaded states, for Fold.Cache. Because events never change, a state at a
// version stays correct. Load reads only the later events, consistently, so its result does not
// depend on the cache. A Cache is safe for concurrent use, and for one Fold.
type Cache[S any] struct {
	states *lru.Cache[cacheKey, cached[S]]
}

type cacheKey struct {
	s  *Store
	id ID
}

type cached[S any] struct {
	state   S
	version int64
}

// NewCache returns a cache of at most the given number of states, at least one. It ignores their
// sizes.
func NewCache[S any](most int) *Cache[S] {
	states, err := lru.New[cacheKey, cached[S]](max(most, 1))
	if err != nil { // only for sizes below 1
		return nil
	}
	return &Cache[S]{states}
}

// Drop removes the state of an aggregate. It is needed if events did change, as after restoring a
// backup.
func (c *Cache[S]) Drop(s *Store, id ID) {
	if c != nil {
		c.states.Remove(cacheKey{s, id})
	}
}

// begin starts a load with the cached state, and reports whether there is one. Stores with Secrets
// do not cache, because a state could outlive the keys of its events.
func (c *Cache[S]) begin(s *Store, l *Loaded[S]) bool {
	if c == nil || s.o.Secrets != nil {
		return false
	}
	kept, ok := c.states.Get(cacheKey{s, l.ID})
	if ok {
		l.State, l.Version = kept.state, kept.version
	}
	return ok
}

// keep caches a loaded state, unless a later one is cached.
func (c *Cache[S]) keep(s *Store, l *Loaded[S]) {
	if c == nil || s.o.Secrets != nil || l.Version == 0 {
		return
	}
	key := cacheKey{s, l.ID}
	if kept, ok := c.states.Peek(key); !ok || kept.version < l.Version {
		c.states.Add(key, cached[S]{l.State, l.Version})
	}
}
