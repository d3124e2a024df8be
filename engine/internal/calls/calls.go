// Package calls counts the calls that are under way, so that who ends something can wait until nobody uses it any more.
// The engine closes its store by it.
package calls

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
)

const stripes = 16

// Gate lets calls in until it is shut. Make one with New.
//
// A call is counted in one of several stripes, so that cores do not take one cache line from each other with every call.
// It is counted first and looks whether the gate is shut then; who shuts the gate does that first and looks at the
// stripes then. So at least one of the two sees the other: a call that is let in is waited for.
type Gate struct {
	stripes [stripes]stripe
	shut    atomic.Bool
	mu      sync.Mutex // held by who looks whether stripes are empty, and by who tells of it
	emptied *sync.Cond
}

type stripe struct {
	calls atomic.Int64
	_     [56]byte // one cache line each
}

// New returns an open gate.
func New() *Gate {
	g := new(Gate)
	g.emptied = sync.NewCond(&g.mu)
	return g
}

// Call is one that was let in.
type Call struct {
	gate   *Gate
	stripe *atomic.Int64
}

// Enter lets a call in, which must End, unless the gate is shut.
func (g *Gate) Enter() (Call, bool) {
	c := Call{g, &g.stripes[rand.Uint64()%stripes].calls}
	c.stripe.Add(1)
	if g.shut.Load() {
		c.End()
		return Call{}, false
	}
	return c, true
}

// End ends a call that was let in.
func (c Call) End() {
	if c.stripe.Add(-1) == 0 && c.gate.shut.Load() {
		c.gate.tell()
	}
}

func (g *Gate) tell() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.emptied.Broadcast()
}

// Shut lets no more calls in. It returns false when the gate was shut before.
func (g *Gate) Shut() bool { return !g.shut.Swap(true) }

// Wait returns when all calls have ended that were let in before the gate was shut.
func (g *Gate) Wait() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i := range g.stripes {
		for g.stripes[i].calls.Load() != 0 {
			g.emptied.Wait()
		}
	}
}
