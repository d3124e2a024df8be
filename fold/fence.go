package fold

import (
	"context"
	"fmt"
	"time"
)

// A Fence is a place in the stream: the end of every shard when it was made.
type Fence struct{ turn uint64 }

// Fence returns the present end of the stream, for WaitFor of the same worker. With leases it covers the shards that
// this worker owns.
func (w *Worker) Fence(ctx context.Context) (Fence, error) {
	if err := ctx.Err(); err != nil {
		return Fence{}, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.listAt = time.Time{} // the stream may have shards that were not listed yet
	return Fence{turn: w.turns + 1}, nil
}

// WaitFor returns when everything before the fence is folded and durable. It does the work itself, also while Run does.
func (w *Worker) WaitFor(ctx context.Context, f Fence) error {
	if w.source == nil {
		return ErrNoSource
	}
	for failures := 0; ; {
		n, err := w.turn(ctx, true)
		switch {
		case w.passed(f):
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			if failures++; failures >= drainAttempts {
				return fmt.Errorf("fold: wait: %w", err)
			}
			err = w.o.Sleep(ctx, w.backoff(failures))
		case n == 0:
			failures = 0
			err = w.o.Sleep(ctx, time.Millisecond)
		default:
			failures = 0
		}
		if err != nil && ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// passed reports whether everything before a fence is durable: every shard that was listed after it has, also after it,
// been read to its tip, and nothing of that waits. Times of changes cannot tell: they are of another clock.
func (w *Worker) passed(f Fence) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.listed < f.turn || w.unsettled || w.waiting > 0 || len(w.dead) > 0 {
		return false
	}
	now := w.o.Clock()
	for _, sh := range w.order {
		if !sh.listed || sh.finished() || !w.owns(sh, now) {
			continue
		}
		if sh.tip < f.turn {
			return false
		}
	}
	return true
}

// Drain returns when everything that is in the stream now, and everything that the folds wrote because of it, is folded
// and durable. It works while Run does in another goroutine, and does the work itself.
func (w *Worker) Drain(ctx context.Context) error {
	for range w.depth {
		f, err := w.Fence(ctx)
		if err != nil {
			return err
		}
		if err := w.WaitFor(ctx, f); err != nil {
			return err
		}
	}
	return nil
}
