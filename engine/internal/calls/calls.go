// Package calls counts running calls, so that a resource can be closed once nothing uses it any
// more. The engine uses it to close its store.
package calls

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
)

const stripes = 16

// Gate admits calls until it is shut. Use New to make one.
//
// Calls are counted in several stripes, so that cores do not compete for a single cache line. Enter
// first counts the call and then checks whether the gate is shut; Wait runs after Close, and checks
// the stripes then. So at least one of them sees the other, and every admitted call is waited for.
type Gate struct {
	stripes [stripes]stripe
	shut    atomic.Bool
	mu      sync.Mutex // held while checking that stripes are empty, and while signalling it
	emptied *sync.Cond
}

type stripe struct {
	calls atomic.Int64
	_     [56]byte // so that each stripe has its own cache line
}

// New returns an open gate.
func New() *Gate {
	g := new(Gate)
	g.emptied = sync.NewCond(&g.mu)
	return g
}

// Call is an admitted call.
type Call struct {
	gate   *Gate
	stripe *atomic.Int64
}

// Enter admits a call unless the gate is shut. The caller must End it.
func (g *Gate) Enter() (Call, bool) {
	c := Call{g, &g.stripes[rand.Uint64()%stripes].calls}
	c.stripe.Add(1)
	if g.shut.Load() {
		c.End()
		return Call{}, false
	}
	return c, true
}

// End ends an admitted call. Close stops admitting calls. It returns false if the gate was already
// shut.
func (c Call) End() {
	if c.stripe.Add(-1) == 0 && c.gate.shut.Load() {
		c.gate.signal()
	}
}

func (g *Gate) signal() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.emptied.Broadcast()
}

// Close lets no more calls in. It returns false when the gate was shut before.
func (g *Gate) Close() bool { return !g.shut.Swap(true) }

// Wait waits until all calls admitted before Close have ended.
func (g *Gate) Wait() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i := range g.stripes {
		for g.stripes[i].calls.Load() != 0 {
			g.emptied.Wait()
		}
	}
}
