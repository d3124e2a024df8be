package eventstore

import (
	"context"
	"sync"

	"golang.org/x/sync/semaphore"
)

// turns serializes TransactQuery calls on a tag within a process, in order of arrival. Without it, the fastest caller would win every time, and the others would keep deciding again. Other
// processes are not waited for; versions handle these conflicts.
type turns struct {
	mu   sync.Mutex
	open map[ID]*turn
}

// turn is the queue of one tag.
type turn struct {
	*semaphore.Weighted     // FIFO
	n                   int // holders and waiters; protected by turns.mu
}

// enter waits for the turn. The caller must call leave.
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
