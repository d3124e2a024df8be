package fold

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/fold/internal/watermark"
)

// ErrNoSource is returned by Run, Drain and WaitFor of a worker that was made without a source.
var ErrNoSource = errors.New("fold: the worker has no source: use Handle")

const (
	stopWithin    = 10 * time.Second // for the last flush of Run
	maxBatchAge   = time.Hour        // see the package comment
	drainAttempts = 10               // failed turns in a row after which Drain gives up
)

// Run reads all shards that the worker owns and folds their changes until ctx ends; then it writes what it has and
// returns nil. Failures are logged, counted and tried again.
func (w *Worker) Run(ctx context.Context) error { return w.run(ctx, true) }

// RunShift is Run of a worker that another follows at once: what waits by Hold is left to that one, which reads it again. So a visit
// that goes on is not written because a shift is over. Nothing that waits is ever written if shifts are shorter than folds hold.
func (w *Worker) RunShift(ctx context.Context) error { return w.run(ctx, false) }

func (w *Worker) run(ctx context.Context, all bool) error {
	if w.source == nil {
		return ErrNoSource
	}
	for failures := 0; ctx.Err() == nil; {
		n, err := w.turn(ctx, false)
		switch {
		case err != nil && ctx.Err() == nil:
			failures++
			w.counts.failures.Add(1)
			w.o.Logger.Error("fold: turn failed, trying again", "group", w.o.Group, "failures", failures, "err", err)
			err = w.o.Sleep(ctx, w.backoff(failures))
		case n == 0:
			failures = 0
			err = w.o.Sleep(ctx, w.pause())
		default:
			failures = 0
		}
		if err != nil && ctx.Err() == nil {
			return fmt.Errorf("fold: run: %w", err)
		}
	}
	return w.stop(ctx, all)
}

// Leave writes what was read and gives the leases back, so that others need not wait for their end. Run does so as it ends; it is
// for who called Drain or WaitFor alone.
func (w *Worker) Leave(ctx context.Context) error { return w.stop(ctx, true) }

// stop writes what is left, unless it may wait and not all is to be written, and gives the leases back. A store that is away for a moment
// is asked again, so that who is told to stop just then does so as well as at any other time.
func (w *Worker) stop(ctx context.Context, all bool) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWithin)
	defer cancel()
	err := w.tryStop(ctx, all)
	for failures := 1; (dynamo.IsUnavailable(err) || dynamo.IsThrottle(err)) && failures < drainAttempts && w.o.Sleep(ctx, w.backoff(failures)) == nil; failures++ {
		err = w.tryStop(ctx, all)
	}
	if err != nil {
		return fmt.Errorf("fold: stop: %w", err)
	}
	return nil
}

// tryStop is one attempt of stop.
func (w *Worker) tryStop(ctx context.Context, all bool) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer w.report()
	if err := w.flush(ctx, all); err != nil {
		return err
	}
	return w.releaseLeases(ctx)
}

// pause returns how long to wait after a turn that found nothing.
func (w *Worker) pause() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.waiting == 0 {
		return w.o.Poll
	}
	return max(min(w.o.Poll, w.o.FlushAge-w.o.Clock().Sub(w.opened)), time.Millisecond)
}

// turn reads what there is, up to a full batch, and writes the batch if it is full or old enough, or force is set. It
// returns the number of records read.
func (w *Worker) turn(ctx context.Context, force bool) (read int, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer w.report()
	w.turns++
	w.began.Begin(w.turns, w.o.Clock())
	if err := w.discardOld(ctx); err != nil {
		return 0, err
	}
	if w.unsettled {
		if err := w.flush(ctx, force); err != nil {
			return 0, err
		}
	}
	if err := w.refresh(ctx); err != nil {
		return 0, err
	}
	read, err = w.gather(ctx, force)
	if force || w.full() || w.aged() {
		err = errors.Join(err, w.flush(ctx, force))
	}
	return read, err
}

func (w *Worker) full() bool { return w.waiting >= w.o.FlushChanges || w.bytes >= w.o.FlushBytes }

func (w *Worker) aged() bool {
	return w.waiting > 0 && w.o.Clock().Sub(w.opened) >= w.o.FlushAge || w.dueSkips()
}

// gather reads all ready shards in turn until nothing comes any more or the batch is to be written. It reads once even of
// a batch that is old: what waits beyond a flush must not keep more from coming.
func (w *Worker) gather(ctx context.Context, force bool) (read int, err error) {
	for first := true; !w.full() && (first || force || !w.aged()); first = false {
		n, err := w.readOnce(ctx)
		read += n
		if err != nil || n == 0 {
			return read, err
		}
	}
	return read, nil
}

// readOnce reads every ready shard once, concurrently, and routes what came.
func (w *Worker) readOnce(ctx context.Context) (read int, err error) {
	now := w.o.Clock()
	ready := w.ready(now)
	batches := make([]Batch, len(ready))
	errs := make([]error, len(ready))
	w.each(w.o.Readers, len(ready), func(i int) error {
		sh := ready[i]
		batches[i], errs[i] = w.source.Read(ctx, ReadRequest{Shard: sh.id, After: sh.position, Max: w.o.PageSize, Want: w.wants, Turn: w.turns})
		return nil
	}) //nolint:errcheck // errors are in errs: one shard's failure does not concern the others
	for i, sh := range ready {
		if errs[i] != nil {
			sh.failures++
			sh.retryAt = now.Add(w.backoff(sh.failures))
			if dynamo.IsThrottle(errs[i]) { // others read it, too
				w.counts.throttles.Add(1)
				continue
			}
			if dynamo.IsNotFound(errs[i]) { // it is trimmed
				w.listAt = time.Time{}
			}
			err = errors.Join(err, fmt.Errorf("read shard %s: %w", sh.id, errs[i]))
			continue
		}
		sh.failures = 0
		read += batches[i].Read
		if failed := w.take(ctx, sh, &batches[i]); failed != nil {
			err = errors.Join(err, fmt.Errorf("shard %s: %w", sh.id, failed))
		}
	}
	return read, err
}

// take puts what was read of a shard into the batch. After an error the rest of it is read again.
func (w *Worker) take(ctx context.Context, sh *shard, b *Batch) (err error) {
	if b.Missed && !w.fed.Load() && !sh.isFed() {
		sh.missed++
		sh.counted = true
		sh.gaps = append(sh.gaps, gap{after: sh.position, from: watermark.Latest(sh.lastAt, sh.readTo)})
	}
	before := w.waiting
	for i := range b.Changes {
		c := &b.Changes[i]
		if c.Seq.Compare(sh.position) <= 0 {
			continue
		}
		full := i > 0 && w.full() // a change may hold many facts: the rest is read again when these are written
		if !full {
			err = w.route(ctx, sh, c)
		}
		if full || err != nil {
			*b = b.upTo(i, sh.position)
			break
		}
		sh.position = c.Seq
	}
	sh.skipped += b.Read - (w.waiting - before)
	if b.Read > 0 {
		sh.position = later(sh.position, b.Last)
		sh.lastAt = b.At
		sh.mark.Read(b.At)
	}
	sh.readAt = w.o.Clock()
	if b.Tip || b.End {
		sh.quiet = cmp.Or(b.Since, w.turns)
		if !b.End { // others go on from it then, and their changes may be older than this turn
			sh.mark.Read(w.began.At(sh.quiet, w.turns))
		}
	}
	if b.End {
		sh.end = true
		w.listAt = time.Time{}
	}
	return err
}

// upTo is what was read before the i-th change.
func (b *Batch) upTo(i int, last Sequence) Batch {
	to := Batch{Changes: b.Changes[:i], Read: i, Last: last}
	if i > 0 {
		to.At = b.Changes[i-1].At
	}
	return to
}
