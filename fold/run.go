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

// ErrNoSource is returned by Run, Drain and WaitFor if the worker has no source.
var ErrNoSource = errors.New("fold: the worker has no source; use Handle")

const (
	stopWithin    = 10 * time.Second // for the last flush of Run
	maxBatchAge   = time.Hour        // see the package comment
	drainAttempts = 10               // failed turns in a row after which Drain gives up
)

// Run reads all shards that the worker owns and folds their changes until ctx ends. It then writes
// what it has and returns nil. Failed turns are logged, counted and retried. Errors: ErrNoSource,
// or that of the last flush.
func (w *Worker) Run(ctx context.Context) error { return w.run(ctx, true) }

// RunShift is Run for a worker that is followed by another at once, such as consecutive Lambda
// invocations. Changes on hold are left to the successor, which reads them again. So a visit that
// continues is not written just because a shift ends. If shifts are shorter than the folds hold
// items, items on hold are never written.
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
			w.o.Logger.Error("fold: turn failed; retrying", "group", w.o.Group, "failures", failures, "err", err)
			err = w.o.Sleep(ctx, w.requests.Backoff(failures))
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

// Release writes what was read and releases the leases, so that others need not wait until they
// expire. Run does this when it ends; call Release after using only Drain or WaitFor.
func (w *Worker) Release(ctx context.Context) error { return w.stop(ctx, true) }

// stop writes what is left, except changes on hold unless all is set, and releases the leases. It
// retries while the store is unavailable or throttles, so that a shutdown works even then, for up
// to stopWithin.
func (w *Worker) stop(ctx context.Context, all bool) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWithin)
	defer cancel()
	err := w.tryStop(ctx, all)
	for failures := 1; (dynamo.IsUnavailable(err) || dynamo.IsThrottle(err)) && failures < drainAttempts && w.o.Sleep(ctx, w.requests.Backoff(failures)) == nil; failures++ {
		err = w.tryStop(ctx, all)
	}
	if err != nil {
		return fmt.Errorf("fold: stop: %w", err)
	}
	return nil
}

// tryStop makes one attempt to stop.
func (w *Worker) tryStop(ctx context.Context, all bool) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer w.report()
	if err := w.flush(ctx, all); err != nil {
		return err
	}
	return w.releaseLeases(ctx)
}

// pause returns how long to wait after a turn that found nothing: no longer than the batch may
// still wait.
func (w *Worker) pause() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.waiting == 0 {
		return w.o.Poll
	}
	return max(min(w.o.Poll, w.o.FlushAge-w.o.Clock().Sub(w.batchStarted)), time.Millisecond)
}

// turn reads what is available, up to a full batch, and writes the batch if it is full or old
// enough, or if force is set. It returns the number of records read.
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
	read, err = w.readBatches(ctx, force)
	if force || w.full() || w.aged() {
		err = errors.Join(err, w.flush(ctx, force))
	}
	return read, err
}

// full reports whether the batch has reached its maximum size.
func (w *Worker) full() bool { return w.waiting >= w.o.FlushChanges || w.bytes >= w.o.FlushBytes }

// aged reports whether the batch has waited long enough, or a checkpoint is due without it.
func (w *Worker) aged() bool {
	return w.waiting > 0 && w.o.Clock().Sub(w.batchStarted) >= w.o.FlushAge || w.checkpointsDue()
}

// readBatches reads all ready shards in turn until nothing more comes or the batch should be written. It
// always reads once, even if the batch is old: changes on hold must not block new ones.
func (w *Worker) readBatches(ctx context.Context, force bool) (read int, err error) {
	for first := true; !w.full() && (first || force || !w.aged()); first = false {
		n, err := w.readOnce(ctx)
		read += n
		if err != nil || n == 0 {
			return read, err
		}
	}
	return read, nil
}

// readOnce reads every ready shard once, concurrently, and routes the changes.
func (w *Worker) readOnce(ctx context.Context) (read int, err error) {
	now := w.o.Clock()
	ready := w.readyShards(now)
	batches := make([]Batch, len(ready))
	errs := make([]error, len(ready))
	each(w.o.Readers, len(ready), func(i int) error {
		sh := ready[i]
		batches[i], errs[i] = w.source.Read(ctx, ReadRequest{Shard: sh.id, After: sh.position, Max: w.o.PageSize, Want: w.wants, Turn: w.turns})
		return nil
	}) //nolint:errcheck // errors are in errs: one shard's failure does not concern the others
	for i, sh := range ready {
		if errs[i] != nil {
			sh.failures++
			sh.retryAt = now.Add(w.requests.Backoff(sh.failures))
			if dynamo.IsThrottle(errs[i]) { // other readers share the shard's limit
				w.requests.Throttled.Add(1)
				continue
			}
			if dynamo.IsNotFound(errs[i]) { // expired
				w.listAt = time.Time{}
			}
			err = errors.Join(err, fmt.Errorf("read shard %s: %w", sh.id, errs[i]))
			continue
		}
		sh.failures = 0
		read += batches[i].Read
		if failed := w.addBatch(ctx, sh, &batches[i]); failed != nil {
			err = errors.Join(err, fmt.Errorf("shard %s: %w", sh.id, failed))
		}
	}
	return read, err
}

// addBatch adds what was read from a shard to the batch. After an error the rest is read again.
func (w *Worker) addBatch(ctx context.Context, sh *shard, b *Batch) (err error) {
	if b.Trimmed && !w.fed.Load() && !sh.isFed() {
		sh.gapCount++
		sh.counted = true
		sh.gaps = append(sh.gaps, gapStart{after: sh.position, from: watermark.Latest(sh.lastAt, sh.readTo)})
	}
	before := w.waiting
	for i := range b.Changes {
		c := &b.Changes[i]
		if c.Seq.Compare(sh.position) <= 0 {
			continue
		}
		full := i > 0 && w.full() // one change may hold many facts; the rest is read again after these are written
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
		sh.position = maxSequence(sh.position, b.Last)
		sh.lastAt = b.At
		sh.mark.Read(b.At)
	}
	sh.readAt = w.o.Clock()
	if b.Tip || b.End {
		sh.tipTurn = cmp.Or(b.Since, w.turns)
		if !b.End { // at the end of a shard its children continue, and their changes may be older than this turn
			sh.mark.Read(w.began.At(sh.tipTurn, w.turns))
		}
	}
	if b.End {
		sh.end = true
		w.listAt = time.Time{}
	}
	return err
}

// upTo returns the part of the batch before the i-th change.
func (b *Batch) upTo(i int, last Sequence) Batch {
	to := Batch{Changes: b.Changes[:i], Read: i, Last: last}
	if i > 0 {
		to.At = b.Changes[i-1].At
	}
	return to
}
