// Package known remembers which facts a server has stored. A collector asks it before it stores a
// fact, so that a fact that is sent again is answered as a duplicate and not stored again. Each fact
// has an ID of 16 bytes and belongs to a place, the unit that is read from the store, such as an
// hour of a partition. Whether a fact counts is not decided here: folds know which came first. The
// answers are exact where no other server stores facts, because facts of earlier runs are read from
// the store.
package known

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// ID identifies a fact within its place.
type ID = [16]byte

// Options configure Facts.
type Options[P comparable] struct {
	// Stored reads the IDs of the facts of a place that are in the store.
	Stored func(ctx context.Context, place P) ([]ID, error)
	// Begins returns the earliest time at which a fact of the place can have been stored, in epoch milliseconds. A place that begins
	// after Since is not read.
	Begins func(place P) int64
	Since  time.Time // when the server started
	Most   int       // how many IDs are kept, of some 30 bytes each; 0: two million. The least recently used places are forgotten first.
}

const (
	defaultMost = 2_000_000
	placeRoom   = 8 // a place takes as much room as so many IDs
)

// Facts are the facts known to be stored. They are safe for concurrent use.
type Facts[P comparable] struct {
	o Options[P]

	stored atomic.Int64 // since New

	mu     sync.Mutex // guards the fields below and the facts of places
	places map[P]*facts
	ids    int    // number of IDs in all places
	turn   uint64 // counts uses, to find the least recently used places
}

// facts are the known facts of one place.
type facts struct {
	ids      map[ID]struct{}
	flights  map[ID]flight // being stored
	complete bool          // every stored fact of the place is known
	loading  flight        // nil: nobody is reading the place
	pins     int           // claims in the making: the place must not be evicted before they have noted their flights
	used     uint64        // turn of the last use
}

// depart notes that a fact is being stored.
func (s *facts) depart(id ID, f flight) {
	if s.flights == nil {
		s.flights = make(map[ID]flight)
	}
	s.flights[id] = f
}

// arrive removes id from flights. It drops an empty map, because Go maps never shrink.
func (s *facts) arrive(id ID) {
	if delete(s.flights, id); len(s.flights) == 0 {
		s.flights = nil
	}
}

// flight is closed when a fact has been stored, or could not be.
type flight chan struct{}

// New returns Facts that know nothing yet.
func New[P comparable](o Options[P]) *Facts[P] {
	o.Most = cmp.Or(o.Most, defaultMost)
	return &Facts[P]{o: o, places: make(map[P]*facts)}
}

// A Claim sorts facts into those that its holder is to store and those that are stored already. Facts that another claim is storing are
// in neither, until Rest.
type Claim[P comparable] struct {
	Fresh []int // indexes of the facts that the holder is to store
	Known []int // indexes of the facts that are stored

	k      *Facts[P]
	of     func(i int) (P, ID)
	others map[int]flight // being stored by other claims
	mine   flight
}

// Claim claims the facts with the given indexes; of returns a fact's place and ID. The caller must call End on the claim, and should then
// claim what Rest returns. Errors: those of Stored and of ctx.
func (k *Facts[P]) Claim(ctx context.Context, at []int, of func(i int) (P, ID)) (*Claim[P], error) {
	held, err := k.load(ctx, at, of)
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, s := range held {
		s.pins--
	}
	if err != nil {
		return nil, err
	}
	c := &Claim[P]{k: k, of: of, others: make(map[int]flight), mine: make(flight)}
	for _, i := range at {
		place, id := of(i)
		s := k.at(place)
		if _, known := s.ids[id]; known {
			c.Known = append(c.Known, i)
		} else if f := s.flights[id]; f != nil {
			c.others[i] = f
		} else {
			s.depart(id, c.mine)
			c.Fresh = append(c.Fresh, i)
		}
	}
	return c, nil
}

// Stored returns how many facts were stored, by claims or as Note says, since New.
func (k *Facts[P]) Stored() int64 { return k.stored.Load() }

// Note notes that facts of a place have just been stored without a claim.
func (k *Facts[P]) Note(place P, ids []ID) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.stored.Add(int64(len(ids)))
	k.add(k.at(place), ids)
	k.evict()
}

// add notes that facts are stored. The caller holds the lock.
func (k *Facts[P]) add(s *facts, ids []ID) {
	before := len(s.ids)
	for _, id := range ids {
		s.ids[id] = struct{}{}
	}
	k.ids += len(s.ids) - before
}

// End ends the claim: stored reports for each fresh fact whether it was stored. Facts that were not stored can be claimed again.
func (c *Claim[P]) End(stored func(i int) bool) {
	k := c.k
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, i := range c.Fresh {
		place, id := c.of(i)
		s := k.at(place)
		s.arrive(id)
		if stored(i) {
			k.stored.Add(1)
			k.add(s, []ID{id})
		}
	}
	k.evict()
	close(c.mine)
}

// Rest waits until other claims have ended, and returns the indexes of the facts that they were storing, or that the claim contained
// twice. They can be claimed again. Error: that of ctx.
func (c *Claim[P]) Rest(ctx context.Context) (at []int, err error) {
	for i, f := range c.others {
		select {
		case <-f:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		at = append(at, i)
	}
	slices.Sort(at)
	return at, nil
}

// at returns the facts of a place. The caller holds the lock.
func (k *Facts[P]) at(place P) *facts {
	s := k.places[place]
	if s == nil {
		s = &facts{ids: make(map[ID]struct{})}
		s.complete = time.UnixMilli(k.o.Begins(place)).After(k.o.Since)
		k.places[place] = s
	}
	k.turn++
	s.used = k.turn
	return s
}

// full reports whether more is kept than there is room for.
func (k *Facts[P]) full() bool { return k.room() > k.o.Most }

// room returns how much is in use, counted in IDs. A place without IDs takes room, too.
func (k *Facts[P]) room() int { return k.ids + placeRoom*len(k.places) }

// evict forgets the least recently used places if there is no room. It frees a quarter of the room at once, because finding them means
// looking at every place.
func (k *Facts[P]) evict() {
	if !k.full() {
		return
	}
	idle := make([]P, 0, len(k.places))
	for place, s := range k.places {
		if len(s.flights) == 0 && s.loading == nil && s.pins == 0 {
			idle = append(idle, place)
		}
	}
	slices.SortFunc(idle, func(a, b P) int { return cmp.Compare(k.places[a].used, k.places[b].used) })
	for _, place := range idle[:max(len(idle)-1, 0)] { // not the one that is in use
		if k.room() <= k.o.Most-k.o.Most/4 {
			return
		}
		s := k.places[place]
		k.ids -= len(s.ids)
		delete(k.places, place)
		if began := time.UnixMilli(k.o.Begins(place)); began.After(k.o.Since) {
			k.o.Since = began // so that it is read when it is needed again
		}
	}
}

// load reads the places of the facts in full and pins them, so that they are not evicted. The caller must unpin every place that load
// returns, even if it also returns an error.
func (k *Facts[P]) load(ctx context.Context, at []int, of func(i int) (P, ID)) (held []*facts, err error) {
	var last P
	for n, i := range at {
		place, _ := of(i)
		if n > 0 && place == last {
			continue
		}
		last = place
		s, err := k.completed(ctx, place)
		if err != nil {
			return held, err
		}
		held = append(held, s)
	}
	return held, nil
}

// completed returns a place that has been read in full, pinned. It reads the place, unless another goroutine has or is doing so.
func (k *Facts[P]) completed(ctx context.Context, place P) (*facts, error) {
	for {
		k.mu.Lock()
		s := k.at(place)
		if s.complete {
			s.pins++
			k.mu.Unlock()
			return s, nil
		}
		if f := s.loading; f != nil {
			k.mu.Unlock()
			select {
			case <-f:
				continue
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		s.loading = make(flight)
		k.mu.Unlock()
		ids, err := k.o.Stored(ctx, place)
		k.mu.Lock()
		if err == nil {
			s.complete = true
			k.add(s, ids)
		}
		close(s.loading)
		s.loading = nil
		k.mu.Unlock()
		if err != nil {
			return nil, fmt.Errorf("read which facts have come: %w", err)
		}
	}
}
