package fold

import (
	"context"
	"fmt"
	"time"
)

// A Barrier is a point in the stream: the end of every shard at the time it was made.
type Barrier struct {
	// turn is the first turn of the worker that began after the barrier was made; at is when it was
	// made.
	turn uint64
	at   time.Time
}

// barrierSkew is how far the stream's clock, which has a resolution of one second, may be ahead of
// this worker's. A change whose commit time is later than the barrier by more than this is after
// the barrier.
const barrierSkew = 10 * time.Second

// Barrier returns a barrier at the present end of the stream, for WaitFor of the same worker. It
// covers all shards, no matter who owns them. The only error is that of ctx.
func (w *Worker) Barrier(ctx context.Context) (Barrier, error) {
	if err := ctx.Err(); err != nil {
		return Barrier{}, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.listAt = time.Time{} // the stream may have shards that are not listed yet
	return Barrier{turn: w.turns + 1, at: w.o.Clock()}, nil
}

// WaitFor returns when everything before the barrier is folded and durable. It folds the worker's
// own shards itself, even while Run is active. For shards of other workers it waits, and helps if
// their checkpoints do not move. Shards whose reads fail are read again after a growing delay, as in
// Run.
//
// Errors: ErrNoSource, that of ctx, or the last failure after 10 failed turns in a row.
func (w *Worker) WaitFor(ctx context.Context, f Barrier) error {
	if w.source == nil {
		return ErrNoSource
	}
	wait := &barrierWait{barrier: f, probes: make(map[string]*probe)}
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
			err = w.o.Sleep(ctx, w.requests.Backoff(failures))
		case n == 0:
			idle++
			retry := w.firstRetry()
			if retry.IsZero() {
				failures = 0
			}
			err = w.idle(ctx, idle, retry)
		default:
			failures, idle = 0, 0
		}
		if err != nil && ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// idle waits after an idle turn. If the read of a shard has failed, it waits until the first such
// shard may be read again, and then releases that shard, even if the clock has not moved.
func (w *Worker) idle(ctx context.Context, n int, retry time.Time) error {
	w.expedite(n)
	pause := w.idlePause(n)
	if !retry.IsZero() {
		pause = max(pause, retry.Sub(w.o.Clock()))
	}
	if err := w.o.Sleep(ctx, pause); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, sh := range w.order {
		if !sh.retryAt.After(retry) {
			sh.retryAt = time.Time{}
		}
	}
	return nil
}

// firstRetry returns the earliest time at which a shard whose last read failed may be read again. It
// returns the zero time if there is no such shard.
func (w *Worker) firstRetry() (first time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.o.Clock()
	for _, sh := range w.order {
		if sh.failures > 0 && !sh.retryAt.IsZero() && sh.listed && !sh.finished() && w.reads(sh, now) && (first.IsZero() || sh.retryAt.Before(first)) {
			first = sh.retryAt
		}
	}
	return first
}

// idlePause returns the pause after an idle turn. It grows up to Options.Poll. A source with its
// own pace is always asked at that pace.
func (w *Worker) idlePause(idle int) time.Duration {
	if p, ok := w.source.(Pacer); ok && p.Pace() > 0 {
		return w.o.Poll
	}
	return min(time.Millisecond<<min(idle/8, 10), w.o.Poll)
}

// relistEvery is the number of idle turns after which WaitFor lists the shards again, whatever the
// time: WaitFor must make progress even if the clock does not move.
const relistEvery = 16

// expedite makes the next turn look for finished parents at once.
func (w *Worker) expedite(idle int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.parentsAt = time.Time{}
	if idle%relistEvery == 0 {
		w.listAt = time.Time{}
	}
}

// passed reports whether everything before the barrier is durable. Each shard that was listed after
// the barrier was made must also have been read after that, up to its tip or to a change well after
// the barrier, and none of it may be waiting; or the shard's owner must have got that far.
func (w *Worker) passed(ctx context.Context, c *barrierWait) (bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.listed < c.barrier.turn || w.unsettled || w.waiting > 0 || len(w.dead) > 0 {
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
		case sh.tipTurn < c.barrier.turn && !c.barrier.before(sh.lastAt):
			passed = false
		}
	}
	othersPassed, err := w.othersPassed(ctx, c, others)
	return passed && othersPassed, err
}

// before reports whether a change committed at the given time is certainly after the barrier.
func (f Barrier) before(at time.Time) bool { return at.After(f.at.Add(barrierSkew)) }

// Drain returns when everything now in the stream, and everything that folds write because of it,
// is folded and durable. It does the work itself, also while Run is active in another goroutine.
// Errors are those of WaitFor.
func (w *Worker) Drain(ctx context.Context) error {
	for range w.depth {
		f, err := w.Barrier(ctx)
		if err != nil {
			return err
		}
		if err := w.WaitFor(ctx, f); err != nil {
			return err
		}
	}
	return nil
}
