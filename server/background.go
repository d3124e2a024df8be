package server

import (
	"context"
	"sync"
)

// background is the work that outlives the request that began it. It ends with the server, which waits for it.
type background struct {
	ctx  context.Context
	stop context.CancelFunc

	mu   sync.Mutex // no work begins while close waits
	work sync.WaitGroup
}

func newBackground() *background {
	b := new(background)
	b.ctx, b.stop = context.WithCancel(context.Background())
	return b
}

// start does work that ends when the context does. After close it reports false and does nothing.
func (b *background) start(work func(context.Context)) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ctx.Err() != nil {
		return false
	}
	b.work.Go(func() { work(b.ctx) })
	return true
}

// close ends all work and waits for it.
func (b *background) close() {
	b.mu.Lock()
	b.stop()
	b.mu.Unlock()
	b.work.Wait()
}
