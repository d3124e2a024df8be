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
	// Stored reads the names of the facts of a place that are in the store. nil: others store facts, too, so what is in the store is
	// left to them.
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
	used     uint64
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
	for try := 0; ; try++ {
		if err := k.load(ctx, at, of); err != nil {
			return nil, err
		}
		k.mu.Lock()
		if try == claimTries || k.complete(at, of) {
			break
		}
		k.mu.Unlock() // something was forgotten meanwhile
	}
	defer k.mu.Unlock()
	c := &Claim[P]{k: k, of: of, others: make(map[int]flight), mine: make(flight)}
	for _, i := range at {
		place, id := of(i)
		s := k.at(place)
		if _, known := s.ids[id]; known {
			c.Known = append(c.Known, i)
		} else if f := s.flights[id]; f != nil {
			c.others[i] = f
		} else {
			s.flights[id] = c.mine
			c.Fresh = append(c.Fresh, i)
		}
	}
	return c, nil
}

// claimTries is how often places are read again that were forgotten meanwhile. Should it not suffice, facts are stored again that are
// there, and count once.
const claimTries = 3

// complete reports whether all places of some facts are known. The caller holds the lock.
func (k *Facts[P]) complete(at []int, of func(i int) (P, ID)) bool {
	return !slices.ContainsFunc(at, func(i int) bool {
		place, _ := of(i)
		return !k.at(place).complete
	})
}

// End notes what of the fresh facts is stored.
func (c *Claim[P]) End(stored func(i int) bool) {
	k := c.k
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, i := range c.Fresh {
		place, id := c.of(i)
		s := k.at(place)
		delete(s.flights, id)
		if stored(i) {
			s.ids[id] = struct{}{}
			k.ids++
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
		s = &facts{ids: make(map[ID]struct{}), flights: make(map[ID]flight)}
		s.complete = k.o.Stored == nil || k.o.Begins(place) > k.o.Since.UnixMilli()
		k.places[place] = s
		k.ids += placeRoom
	}
	k.turn++
	s.used = k.turn
	return s
}

// evict forgets the places that were not used for longest, as far as others need the room, and some more, so that it is not to be
// done again at once.
func (k *Facts[P]) evict() {
	if k.ids <= k.o.Most {
		return
	}
	idle := make([]P, 0, len(k.places))
	for place, s := range k.places {
		if len(s.flights) == 0 && s.loading == nil {
			idle = append(idle, place)
		}
	}
	slices.SortFunc(idle, func(a, b P) int { return cmp.Compare(k.places[a].used, k.places[b].used) })
	for _, place := range idle[:max(len(idle)-1, 0)] { // not the one that is in use
		if k.ids <= k.o.Most-k.o.Most/8 {
			return
		}
		s := k.places[place]
		k.ids -= len(s.ids) + placeRoom
		delete(k.places, place)
		if began := time.UnixMilli(k.o.Begins(place)); began.After(k.o.Since) {
			k.o.Since = began // so that it is read when it is needed again
		}
	}
}

// load reads the places of some facts that are not known from their beginning.
func (k *Facts[P]) load(ctx context.Context, at []int, of func(i int) (P, ID)) error {
	var last P
	for n, i := range at {
		place, _ := of(i)
		if n > 0 && place == last {
			continue
		}
		last = place
		if err := k.completed(ctx, place); err != nil {
			return err
		}
	}
	return nil
}

// completed reads a place unless it is known, or somebody else reads it.
func (k *Facts[P]) completed(ctx context.Context, place P) error {
	for {
		k.mu.Lock()
		s := k.at(place)
		if s.complete {
			k.mu.Unlock()
			return nil
		}
		if f := s.loading; f != nil {
			k.mu.Unlock()
			select {
			case <-f:
				continue
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		s.loading = make(flight)
		k.mu.Unlock()
		ids, err := k.o.Stored(ctx, place)
		k.mu.Lock()
		if err == nil {
			before := len(s.ids)
			for _, id := range ids {
				s.ids[id] = struct{}{}
			}
			k.ids += len(s.ids) - before
			s.complete = true
		}
		close(s.loading)
		s.loading = nil
		k.mu.Unlock()
		if err != nil {
			return fmt.Errorf("read which facts have come: %w", err)
		}
	}
}
