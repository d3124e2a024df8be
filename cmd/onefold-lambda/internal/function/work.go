package function

import (
	"context"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"golang.org/x/sync/errgroup"

	"github.com/onefold/onefold/cmd/internal/delays"
	"github.com/onefold/onefold/cmd/internal/migration"
	"github.com/onefold/onefold/cmd/internal/products"
	"github.com/onefold/onefold/cmd/onefold-lambda/internal/emf"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/internal/backoff"
)

// Time of an invocation reserved for the end of a shift: its last flush, and the release of its
// leases.
const (
	shiftReserve = 10 // as a fraction of the time limit
	mostReserve  = 15 * time.Second
)

const logEvery = time.Minute // interval of metrics during a shift

// shifts runs a worker like `onefold work`: each invocation is a shift, which reads the stream
// itself. Concurrent invocations share the shards with leases, like all workers.
type shifts struct {
	b        *base
	arn      string
	delays   delays.Flags
	leaseFor time.Duration
}

func newWork(b *base, s *settings) (lambda.Handler, error) {
	w := &shifts{b: b, arn: s.Stream, delays: s.Delays, leaseFor: s.LeaseFor}
	return handlerFunc(w.work), nil
}

// work folds until the invocation's time is nearly over. After an error Lambda invokes it again
// soon.
func (s *shifts) work(ctx context.Context, _ []byte) (any, error) {
	if err := migration.Check(ctx, s.b.clients.Items, s.b.table.Name()); err != nil {
		return nil, err
	}
	source, err := s.b.stream(ctx, s.arn)
	if err != nil {
		return nil, err
	}
	o := fold.Options{Group: products.Group, Leases: true, LeaseFor: s.leaseFor, Logger: s.b.logger}
	s.delays.Apply(&o)
	w, err := fold.NewWorker(s.b.table, source, products.Folds(s.b.table, s.delays.Holds()), o)
	if err != nil {
		return nil, err
	}
	run := w.Run
	if end, bounded := ctx.Deadline(); bounded {
		left := time.Until(end)
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, end.Add(-min(left/shiftReserve, mostReserve)))
		defer cancel()
		// A shorter shift must not leave delayed changes to the next one: see leastShift.
		if left >= s.leastShift() {
			run = w.RunShift
		}
	}
	err = s.runWith(ctx, w, run)
	status := w.Status()
	return map[string]int64{"changes": status.Changes, "writes": status.Writes, "waiting": int64(status.Waiting)}, err
}

// leastShift is the minimum length of a shift that may leave delayed changes to the next one. It is
// long enough to write the changes that it found delayed.
func (s *shifts) leastShift() time.Duration {
	return 2 * (2*s.delays.FoldDelay + s.delays.Holds().Longest())
}

// runWith runs a worker, checks whether the table has moved away, and writes metrics at intervals.
func (s *shifts) runWith(ctx context.Context, w *fold.Worker, run func(context.Context) error) error {
	before := fold.Status{}
	tell := func() {
		now := w.Status()
		s.logShift(&before, &now)
		before = now
	}
	g, inner := errgroup.WithContext(ctx)
	g.Go(func() error { return run(inner) })
	g.Go(func() error {
		err := migration.Watch(inner, s.b.clients.Items, s.b.table.Name())
		if inner.Err() != nil {
			return nil
		}
		return err
	})
	g.Go(func() error {
		for backoff.For(inner, logEvery) == nil {
			tell()
		}
		return nil
	})
	err := g.Wait()
	tell()
	return err
}

// logShift writes the metrics of the work since before.
func (s *shifts) logShift(before, now *fold.Status) {
	count := func(n int64) emf.Figure { return emf.Figure{Unit: emf.Count, Value: n} }
	at, shards := s.b.table.Now(), int64(0)
	behind := now.Lag(at, at)
	for i := range now.Shards {
		if now.Shards[i].Owned {
			shards++
		}
	}
	err := s.b.metrics.Write(map[string]emf.Figure{
		"age":         {Unit: emf.Milliseconds, Value: behind.Milliseconds()},
		"shards":      count(shards),
		"folded":      count(now.Changes - before.Changes),
		"waiting":     count(int64(now.Waiting)),
		"writes":      count(now.Writes - before.Writes),
		"conflicts":   count(now.Conflicts - before.Conflicts),
		"throttles":   count(now.Throttles - before.Throttles),
		"deadLetters": count(now.DeadLetters - before.DeadLetters),
		"failed":      count(now.Failures - before.Failures),
	})
	if err != nil {
		s.b.logger.Warn("cannot write metrics", "error", err)
	}
}
