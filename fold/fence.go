package fold

import (
	"context"
	"fmt"
	"time"
)

// A Fence is a place in the stream: the end of every shard when it was made.
type Fence struct {
	turn uint64
	at   time.Time
}

// fenceSkew is how far the clock of the stream may be ahead of this worker's, which it tells in whole seconds. A change that
// was committed so much later than a fence was made, by these clocks, is behind the fence.
const fenceSkew = 10 * time.Second

// Fence returns the present end of the stream, for WaitFor of the same worker. It covers all shards, whoever owns them.
func (w *Worker) Fence(ctx context.Context) (Fence, error) {
	if err := ctx.Err(); err != nil {
		return Fence{}, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.listAt = time.Time{} // the stream may have shards that were not listed yet
	return Fence{turn: w.turns + 1, at: w.o.Clock()}, nil
}

// WaitFor returns when everything before the fence is folded and durable. What this worker owns it does itself, also while
// Run does; for the shards of others it waits, and helps when their checkpoints do not move.
func (w *Worker) WaitFor(ctx context.Context, f Fence) error {
	if w.source == nil {
		return ErrNoSource
	}
	wait := &crossing{fence: f, others: make(map[string]*scout)}
	defer w.endHelp(wait)
	for failures, idle := 0, 0; ; {
		n, err := w.turn(ctx, true)
		passed := false
		if err == nil {
			passed, err = w.passed(ctx, wait)
		}
		switch {
		case passed:
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
			idle++
			w.hurry(idle)
			err = w.o.Sleep(ctx, w.idlePause(idle))
		default:
			failures, idle = 0, 0
		}
		if err != nil && ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// idlePause grows to that of a worker that finds nothing. A source with a pace of its own is asked no more often.
func (w *Worker) idlePause(idle int) time.Duration {
	if p, ok := w.source.(Pacer); ok && p.Pace() > 0 {
		return w.o.Poll
	}
	return min(time.Millisecond<<min(idle/8, 10), w.o.Poll)
}

// hurryEvery is after how many turns without anything new WaitFor looks for shards and parents, whatever the time: it does not
// depend on a clock that moves.
const hurryEvery = 16

func (w *Worker) hurry(idle int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.parentsAt = time.Time{}
	for _, sh := range w.order {
		sh.retryAt = time.Time{}
	}
	if idle%hurryEvery == 0 {
		w.listAt = time.Time{}
	}
}

// passed reports whether everything before a fence is durable: every shard that was listed after it has, also after it,
// been read to its tip, or to a change of well after the fence, and nothing of that waits; or its owner has come so far.
func (w *Worker) passed(ctx context.Context, c *crossing) (bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.listed < c.fence.turn || w.unsettled || w.waiting > 0 || len(w.dead) > 0 {
		return false, nil
	}
	now := w.o.Clock()
	passed := true
	var others []*shard
	for _, sh := range w.order {
		switch {
		case !sh.listed || sh.finished():
		case !w.reads(sh, now):
			others = append(others, sh)
		case sh.quiet < c.fence.turn && !c.fence.before(sh.lastAt):
			passed = false
		}
	}
	across, err := w.across(ctx, c, others)
	return passed && across, err
}

// before reports whether a change that was committed at some time is surely behind the fence.
func (f Fence) before(at time.Time) bool { return at.After(f.at.Add(fenceSkew)) }

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
