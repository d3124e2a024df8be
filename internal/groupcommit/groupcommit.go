// Package groupcommit lets concurrent callers share batches: calls that arrive while batches are running form the next
// batch. No call waits for a batch to fill, unless the group lingers. It is for requests that each store one thing in a store
// that syncs the disk once for many writes or bills each write.
package groupcommit

import (
	"context"
	"sync"
	"time"
)

// A Group turns calls into batches. Make one with New; it is safe for concurrent use.
type Group[T, R any] struct {
	most, atOnce int
	do           func(context.Context, []T) []R
	linger       time.Duration
	after        func(time.Duration) <-chan time.Time

	mu      sync.Mutex
	waiting []*call[T, R] // none unless atOnce batches are under way, or one lingers
	running int           // batches under way, with those that linger
	full    chan struct{} // of the batch that lingers: closed when it has all that it can; nil: none does
}

// call is one caller.
type call[T, R any] struct {
	in   T
	out  R
	turn chan []*call[T, R] // a batch for this caller to do, the first of which is its own; or closed, when out is there
}

// New makes a group whose batches have at most so many calls, and of which so many are under way at once. do returns a
// result for each input, in order. It is called on the goroutine of the first of the callers, with the values of its
// context but not its end, which is not the others': do has to bound its own time.
func New[T, R any](most, atOnce int, do func(context.Context, []T) []R) *Group[T, R] {
	return &Group[T, R]{most: most, atOnce: atOnce, do: do, after: time.After}
}

// Linger makes each batch wait so long for others before it is done, unless it is full. Call it before the first Do.
func (g *Group[T, R]) Linger(d time.Duration) { g.linger = d }

// Do puts a call in a batch and returns its result when the batch is done, however long the caller's context lasts.
func (g *Group[T, R]) Do(ctx context.Context, in T) R {
	c := &call[T, R]{in: in, turn: make(chan []*call[T, R], 1)}
	g.mu.Lock()
	wait := g.running == g.atOnce || g.full != nil
	switch {
	case wait:
		g.waiting = append(g.waiting, c)
		if g.full != nil && len(g.waiting) == g.most-1 {
			close(g.full)
		}
	case g.linger > 0 && g.most > 1:
		g.running++
		g.full = make(chan struct{})
	default:
		g.running++
	}
	full := g.full
	g.mu.Unlock()
	var batch []*call[T, R]
	switch {
	case wait:
		batch = <-c.turn
	case full != nil:
		batch = append([]*call[T, R]{c}, g.lingered(full)...)
	default:
		batch = []*call[T, R]{c}
	}
	if batch != nil {
		g.run(ctx, batch)
	}
	return c.out
}

// lingered waits for others, and returns those who came.
func (g *Group[T, R]) lingered(full chan struct{}) []*call[T, R] {
	select {
	case <-g.after(g.linger):
	case <-full:
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.full = nil
	return g.take(g.most - 1)
}

// Waiting is how many callers wait for a batch that is not begun.
func (g *Group[T, R]) Waiting() int {
	if g == nil {
		return 0
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.waiting)
}

// run does a batch of the caller's, then lets the first of those who came meanwhile do the next.
func (g *Group[T, R]) run(ctx context.Context, batch []*call[T, R]) {
	defer func() { // though do panics
		if next := g.next(); next != nil {
			next[0].turn <- next
		}
		for _, c := range batch[1:] {
			close(c.turn)
		}
	}()
	ins := make([]T, len(batch))
	for i, c := range batch {
		ins[i] = c.in
	}
	for i, out := range g.do(context.WithoutCancel(ctx), ins) {
		batch[i].out = out
	}
}

// next takes the next batch; nil if nobody waits.
func (g *Group[T, R]) next() []*call[T, R] {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.waiting) == 0 || g.full != nil { // those who wait are the lingering batch's
		g.running--
		return nil
	}
	return g.take(g.most)
}

// take returns the first of those who wait, at most so many. The lock is held.
func (g *Group[T, R]) take(most int) []*call[T, R] {
	n := min(len(g.waiting), most)
	batch := g.waiting[:n:n]
	g.waiting = g.waiting[n:]
	if len(g.waiting) == 0 {
		g.waiting = nil // the batch owns the array
	}
	return batch
}
