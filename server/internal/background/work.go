// Package background is the work of a server that outlives the request which began it. It ends with the server, which waits
// for it.
package background

import (
	"context"
	"sync"
)

// Work is what goes on. Make one with New.
type Work struct {
	ctx  context.Context
	stop context.CancelFunc

	mu   sync.Mutex // no work begins while Close waits
	work sync.WaitGroup
}

// New begins with nothing to do.
func New() *Work {
	w := new(Work)
	w.ctx, w.stop = context.WithCancel(context.Background())
	return w
}

// Start does work that ends when the context does. After Close it reports false and does nothing.
func (w *Work) Start(work func(context.Context)) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ctx.Err() != nil {
		return false
	}
	w.work.Go(func() { work(w.ctx) })
	return true
}

// Close ends all work and waits for it.
func (w *Work) Close() {
	w.mu.Lock()
	w.stop()
	w.mu.Unlock()
	w.work.Wait()
}

// Context ends when the work does: for streams, which run in their requests.
func (w *Work) Context() context.Context { return w.ctx }
