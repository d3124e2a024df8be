package known_test

import (
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/onefold/onefold/internal/known"
)

const places = 8

var errAway = errors.New("the store is away")

// shelf is a naive store of facts by place. Place n can have facts since the n-th second.
type shelf struct {
	mu    sync.Mutex
	facts [places]map[known.ID]bool
	reads int
}

func newShelf() *shelf {
	s := &shelf{}
	for i := range s.facts {
		s.facts[i] = make(map[known.ID]bool)
	}
	return s
}

func (s *shelf) open(since, most int) *known.Facts[int] {
	return known.New(known.Options[int]{
		Stored: s.stored,
		Begins: func(place int) int64 { return int64(place) * 1000 },
		Since:  time.UnixMilli(int64(since) * 1000), Most: most,
	})
}

func (s *shelf) stored(ctx context.Context, place int) (ids []known.ID, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reads++; s.reads%7 == 0 {
		return nil, errAway
	}
	for id := range s.facts[place] {
		ids = append(ids, id)
	}
	return ids, ctx.Err()
}

// put stores a fact, and reports whether it was new.
func (s *shelf) put(place int, id known.ID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.facts[place][id]
	s.facts[place][id] = true
	return !was
}

func (s *shelf) has(place int, id known.ID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.facts[place][id]
}

type fact struct {
	place int
	id    known.ID
}

func factOf(n int) fact {
	var id known.ID
	binary.BigEndian.PutUint64(id[:], uint64(n))
	return fact{n % places, id}
}

// TestClaims lets many goroutines store few facts repeatedly, while reads and writes fail, places
// are evicted, and the server restarts. No fact is stored twice, and none is reported as stored
// that is not.
func TestClaims(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	var s *shelf
	for run := range 6 {
		since := places // every place may have earlier facts
		if run%2 == 0 {
			s, since = newShelf(), -1 // none has
		}
		facts := s.open(since, []int{10, 150, 0}[run/2])
		var wait sync.WaitGroup
		for worker := range 8 {
			wait.Go(func() {
				r := rand.New(rand.NewPCG(seed, uint64(run*100+worker)))
				for range 300 {
					send(t, s, facts, r)
				}
			})
		}
		wait.Wait()
	}
}

// send claims some facts, some of them twice, and stores the fresh ones, with some failures, until
// nothing is in flight.
func send(t *testing.T, s *shelf, facts *known.Facts[int], r *rand.Rand) {
	some := make([]fact, 1+r.IntN(12))
	at := make([]int, len(some))
	for i := range some {
		some[i], at[i] = factOf(r.IntN(600)), i
	}
	of := func(i int) (int, known.ID) { return some[i].place, some[i].id }
	for len(at) > 0 {
		c, err := facts.Claim(t.Context(), at, of)
		if errors.Is(err, errAway) {
			continue
		}
		if err != nil {
			t.Error(err)
			return
		}
		for _, i := range c.Known {
			if !s.has(some[i].place, some[i].id) {
				t.Errorf("fact %v is known, and was never stored", some[i])
			}
		}
		stored := map[int]bool{}
		for _, i := range c.Fresh {
			if r.IntN(5) == 0 {
				continue
			}
			if stored[i] = true; !s.put(some[i].place, some[i].id) {
				t.Errorf("fact %v is stored twice", some[i])
			}
		}
		c.End(func(i int) bool { return stored[i] })
		if at, err = c.Rest(t.Context()); err != nil {
			t.Error(err)
			return
		}
	}
}

// A claim sorts facts: duplicates and facts that others are storing come in Rest, and noted facts
// are known.
func TestClaim(t *testing.T) {
	s := newShelf()
	facts := s.open(-1, 0) // every place is younger than the server: nothing is read
	some := []fact{factOf(1), factOf(2), factOf(1), factOf(3)}
	of := func(i int) (int, known.ID) { return some[i].place, some[i].id }
	facts.Note(some[3].place, []known.ID{some[3].id})
	claim := func(at ...int) *known.Claim[int] {
		t.Helper()
		c, err := facts.Claim(t.Context(), at, of)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	first := claim(0, 1, 2, 3)
	if !slices.Equal(first.Fresh, []int{0, 1}) || !slices.Equal(first.Known, []int{3}) {
		t.Errorf("fresh are %v, known %v", first.Fresh, first.Known)
	}
	second := claim(1)
	if len(second.Fresh)+len(second.Known) != 0 {
		t.Errorf("what another stores is fresh %v or known %v", second.Fresh, second.Known)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := second.Rest(gone); !errors.Is(err, context.Canceled) {
		t.Errorf("who goes away is told %v", err)
	}
	first.End(func(i int) bool { return i == 0 }) // the second fact could not be stored
	second.End(func(int) bool { return false })
	for c, want := range map[*known.Claim[int]][]int{first: {2}, second: {1}} {
		if rest, err := c.Rest(t.Context()); err != nil || !slices.Equal(rest, want) {
			t.Errorf("the rest is %v, %v", rest, err)
		}
	}
	if c := claim(1, 2); !slices.Equal(c.Fresh, []int{1}) || !slices.Equal(c.Known, []int{2}) {
		t.Errorf("then fresh are %v, known %v", c.Fresh, c.Known)
	}
	if n := facts.Stored(); n != 2 { // one by the first claim, one that was noted
		t.Errorf("%d facts were stored", n)
	}
	if s.reads != 0 {
		t.Errorf("the store was read %d times", s.reads)
	}
}
