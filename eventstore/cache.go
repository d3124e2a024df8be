package eventstore

import (
	lru "github.com/hashicorp/golang-lru/v2"
)

// A Cache keeps the states that were loaded last, for Fold.Cache. Events never change, so a state at a version is right for
// ever: Load reads what came after it, consistently, and nothing else; what it returns is the same with and without.
// It is safe for concurrent use, and for one Fold.
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

// NewCache makes a cache of at most so many states, at least one. It knows nothing of their sizes.
func NewCache[S any](most int) *Cache[S] {
	states, err := lru.New[cacheKey, cached[S]](max(most, 1))
	if err != nil { // for sizes below 1 only
		return nil
	}
	return &Cache[S]{states}
}

// Drop forgets the state of an aggregate: of one whose events were changed after all, such as by a restored backup.
func (c *Cache[S]) Drop(s *Store, id ID) {
	if c != nil {
		c.states.Remove(cacheKey{s, id})
	}
}

// begin begins a load with the state that is kept, and reports whether there is one. A store with Secrets keeps none: a
// state would outlive the key that its events are read with.
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

// keep keeps the state that was loaded, unless a later one is there.
func (c *Cache[S]) keep(s *Store, l *Loaded[S]) {
	if c == nil || s.o.Secrets != nil || l.Version == 0 {
		return
	}
	key := cacheKey{s, l.ID}
	if kept, ok := c.states.Peek(key); !ok || kept.version < l.Version {
		c.states.Add(key, cached[S]{l.State, l.Version})
	}
}
