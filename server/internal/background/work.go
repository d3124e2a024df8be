// Package background runs server work that outlives the request which started it. The work ends
// with the server, which waits for it.
package background

import (
	"context"
	"sync"
)

// Work is a group of background goroutines. Create one with New.
type Work struct {
	ctx  context.Context
	stop context.CancelFunc

	mu   sync.Mutex // guards against starting work while Close waits
	work sync.WaitGroup
}

// New returns a group without work.
func New() *Work {
	w := new(Work)
	w.ctx, w.stop = context.WithCancel(context.Background())
	return w
}

// Start runs work in a goroutine. work must return when its context ends. After Close, Start
// reports false and does nothing.
func (w *Work) Start(work func(context.Context)) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ctx.Err() != nil {
		return false
	}
	w.work.Go(func() { work(w.ctx) })
	return true
}

// Close cancels all work and waits for it.
func (w *Work) Close() {
	w.mu.Lock()
	w.stop()
	w.mu.Unlock()
	w.work.Wait()
}

// Context ends when Close is called. Streams, which run in their requests, use it.
func (w *Work) Context() context.Context { return w.ctx }
