// Package groupcommit implements group commit: callers that arrive while batches are running form the
// next batch. Nobody waits for a batch to fill, unless the group lingers. It is for requests that
// each store one thing, in a store that syncs the disk once for many, or bills each write.
package groupcommit

import (
	"context"
	"slices"
	"sync"
	"time"
)

// A Group turns calls into batches. Create one with New; it is safe for concurrent use.
type Group[T, R any] struct {
	most, atOnce int
	do           func(context.Context, []T) []R
	linger       time.Duration
	after        func(time.Duration) <-chan time.Time

	mu      sync.Mutex    // guards the fields below
	waiting []*call[T, R] // empty unless atOnce batches are running, or one lingers
	running int           // running batches, including lingering ones
	full    chan struct{} // of the lingering batch: closed when it is full; nil if none lingers
}

// call is one call of Do.
type call[T, R any] struct {
	in   T
	out  R
	turn chan []*call[T, R] // receives a batch that this caller must run, with its own call first; or is closed when out is set
}

// New creates a group. A batch has at most most calls, and at most atOnce batches run concurrently. do returns a result for each input, in order. It runs on the goroutine of the first
// caller, with the values of its context but without its cancellation, which does not concern the
// other callers: do must limit its own time.
func New[T, R any](most, atOnce int, do func(context.Context, []T) []R) *Group[T, R] {
	return &Group[T, R]{most: most, atOnce: atOnce, do: do, after: time.After}
}

// Linger makes each batch wait for d before it runs, unless it is full. Call it before the first
// Do.
func (g *Group[T, R]) Linger(d time.Duration) { g.linger = d }

// Do adds a call to a batch and returns its result when the batch has run. It does not return early
// if the caller's context ends.
func (g *Group[T, R]) Do(ctx context.Context, in T) R {
	out, _ := g.call(ctx, in, nil)
	return out
}

// DoContext is Do for callers that may give up: if ctx ends while the call waits for a batch, the call
// is removed and the error is that of ctx. A call in a batch is waited for.
func (g *Group[T, R]) DoContext(ctx context.Context, in T) (R, error) {
	return g.call(ctx, in, ctx.Done())
}

func (g *Group[T, R]) call(ctx context.Context, in T, given <-chan struct{}) (out R, err error) {
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
		var in bool
		if batch, in = g.await(c, given); !in {
			return out, ctx.Err()
		}
	case full != nil:
		batch = append([]*call[T, R]{c}, g.lingered(full)...)
	default:
		batch = []*call[T, R]{c}
	}
	if batch != nil {
		g.run(ctx, batch)
	}
	return c.out, nil
}

// await waits for a batch that the caller must run; nil: another caller has run it. in is false if the
// call was given up before it was in a batch.
func (g *Group[T, R]) await(c *call[T, R], given <-chan struct{}) (batch []*call[T, R], in bool) {
	select {
	case batch = <-c.turn:
		return batch, true
	case <-given:
	}
	g.mu.Lock()
	i := slices.Index(g.waiting, c)
	if i >= 0 {
		g.waiting = slices.Delete(g.waiting, i, i+1)
	}
	g.mu.Unlock()
	if i >= 0 {
		return nil, false
	}
	return <-c.turn, true
}

// lingered waits for further calls, and returns them.
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

// Waiting returns how many callers wait for a batch to start.
func (g *Group[T, R]) Waiting() int {
	if g == nil {
		return 0
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.waiting)
}

// run runs a batch on the caller's goroutine, then lets the first of those who arrived meanwhile
// run the next.
func (g *Group[T, R]) run(ctx context.Context, batch []*call[T, R]) {
	defer func() { // even if do panics
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

// next removes and returns the next batch, or nil if nobody waits.
func (g *Group[T, R]) next() []*call[T, R] {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.waiting) == 0 || g.full != nil { // the waiting calls belong to the lingering batch
		g.running--
		return nil
	}
	return g.take(g.most)
}

// take removes and returns up to most waiting calls. The caller holds the lock.
func (g *Group[T, R]) take(most int) []*call[T, R] {
	n := min(len(g.waiting), most)
	batch := g.waiting[:n:n]
	g.waiting = g.waiting[n:]
	if len(g.waiting) == 0 {
		g.waiting = nil // the batch owns the array
	}
	return batch
}
