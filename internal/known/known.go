// Package known remembers which facts a server has stored, so that it need not store again what is sent again, and can say so. Facts
// are named by 16 bytes, and looked up in places: a place is what is read together from the store, such as a span of time of a
// partition. Whether a fact counts is not decided here: folds know which came first. Where nobody else stores facts, what is said is
// exact, for what was stored before the server began is read. The collectors of products use it.
package known

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// ID names a fact.
type ID = [16]byte

// Options say where facts are.
type Options[P comparable] struct {
	// Stored reads the names of the facts of a place that are in the store.
	Stored func(ctx context.Context, place P) ([]ID, error)
	// Begins is when the first fact of a place can have been stored, in epoch milliseconds. Places that began after the server need
	// not be read.
	Begins func(place P) int64
	Since  time.Time // when the server began
	Most   int       // names that are kept, of some 30 bytes each, as far as others need the room; 0: two million
}

const (
	defaultMost = 2_000_000
	placeRoom   = 8 // names that a place takes the room of
)

// Facts are those that are known. They are safe for concurrent use.
type Facts[P comparable] struct {
	o Options[P]

	mu     sync.Mutex
	places map[P]*facts
	ids    int
	turn   uint64
}

// facts are those of a place.
type facts struct {
	ids      map[ID]struct{}
	flights  map[ID]flight // under way
	complete bool
	loading  flight // nil: nobody reads it
	claims   int    // that are being made: it must not be forgotten before they have noted their flights
	used     uint64
}

// depart notes what is under way.
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

// flight is closed when something under way has come to its end.
type flight chan struct{}

// New knows nothing yet.
func New[P comparable](o Options[P]) *Facts[P] {
	o.Most = cmp.Or(o.Most, defaultMost)
	return &Facts[P]{o: o, places: make(map[P]*facts)}
}

// A Claim is what a server stores of some facts.
type Claim[P comparable] struct {
	Fresh []int // nobody has them, or is about to: who has the claim stores them
	Known []int // they are there

	k      *Facts[P]
	of     func(i int) (P, ID)
	others map[int]flight // somebody is about to store them
	mine   flight
}

// Claim divides facts by their numbers. of says where one is and what it is called. Who got a claim ends it, and asks for the Rest.
// Errors: those of Stored and of ctx.
func (k *Facts[P]) Claim(ctx context.Context, at []int, of func(i int) (P, ID)) (*Claim[P], error) {
	held, err := k.load(ctx, at, of)
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, s := range held {
		s.claims--
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

// Note notes facts of a place that are stored.
func (k *Facts[P]) Note(place P, ids []ID) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.add(k.at(place), ids)
	k.evict()
}

// add notes names that are stored. The caller holds the lock.
func (k *Facts[P]) add(s *facts, ids []ID) {
	before := len(s.ids)
	for _, id := range ids {
		s.ids[id] = struct{}{}
	}
	k.ids += len(s.ids) - before
}

// End notes what of the fresh facts is stored.
func (c *Claim[P]) End(stored func(i int) bool) {
	k := c.k
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, i := range c.Fresh {
		place, id := c.of(i)
		s := k.at(place)
		s.arrive(id)
		if stored(i) {
			k.add(s, []ID{id})
		}
	}
	k.evict()
	close(c.mine)
}

// Rest waits until it is known what became of the facts that others were about to store, or that came twice, and returns their
// numbers. Error: that of ctx.
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

// at returns what is known of a place. The caller holds the lock.
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

// full reports whether more is kept than there is room for. A place without names takes room, too.
func (k *Facts[P]) full() bool { return k.room() > k.o.Most }

// room is what is taken, in names.
func (k *Facts[P]) room() int { return k.ids + placeRoom*len(k.places) }

// evict forgets the places that were not used for longest when others need their room, and a quarter of it at once: to find them takes a look
// at all.
func (k *Facts[P]) evict() {
	if !k.full() {
		return
	}
	idle := make([]P, 0, len(k.places))
	for place, s := range k.places {
		if len(s.flights) == 0 && s.loading == nil && s.claims == 0 {
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

// load makes the places of the facts complete and pins them against eviction. The caller unpins all that it returns, also after an error.
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

// completed reads a place unless it is known, or somebody else reads it, and holds it.
func (k *Facts[P]) completed(ctx context.Context, place P) (*facts, error) {
	for {
		k.mu.Lock()
		s := k.at(place)
		if s.complete {
			s.claims++
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
