package eventstore

import (
	"context"
	"sync"

	"golang.org/x/sync/semaphore"
)

// turns lets those who decide on one aggregate do so one after the other, in the order in which they came. Without it the quickest wins every time,
// and others decide again and again. Other processes are not waited for: that is what versions are for.
type turns struct {
	mu   sync.Mutex
	open map[ID]*turn
}

// turn is that of an aggregate.
type turn struct {
	*semaphore.Weighted     // which is fair
	n                   int // who has it, or waits for it
}

// enter waits for the turn, and returns what ends it.
func (t *turns) enter(ctx context.Context, id ID) (leave func(), err error) {
	t.mu.Lock()
	of := t.open[id]
	if of == nil {
		if t.open == nil {
			t.open = map[ID]*turn{}
		}
		of = &turn{Weighted: semaphore.NewWeighted(1)}
		t.open[id] = of
	}
	of.n++
	t.mu.Unlock()
	done := func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if of.n--; of.n == 0 {
			delete(t.open, id)
		}
	}
	if err := of.Acquire(ctx, 1); err != nil {
		done()
		return nil, err
	}
	return func() {
		of.Release(1)
		done()
	}, nil
}
