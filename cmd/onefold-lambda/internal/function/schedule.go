package function

import (
	"context"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/onefold/onefold/cmd/internal/maintenance"
	"github.com/onefold/onefold/cmd/internal/outbox"
	"github.com/onefold/onefold/cmd/onefold-lambda/internal/emf"
	"github.com/onefold/onefold/fold"
)

// Time of an invocation reserved for unfinished work to end.
const scheduleReserve = 5 * time.Second

// newSchedule returns a function that runs one round of maintenance, as far as time allows.
func newSchedule(b *base, s *settings) (lambda.Handler, error) {
	outboxes, err := s.Telling.Outboxes(new(outbox.Counts))
	if err != nil {
		return nil, err
	}
	folded := &foldedStream{b: b, arn: s.Stream}
	u := &maintenance.Maintenance{Table: b.table, Accounts: b.accounts, Folded: folded, Logger: b.logger}
	return handlerFunc(func(ctx context.Context, _ []byte) (any, error) {
		start := time.Now()
		if end, bounded := ctx.Deadline(); bounded {
			var cancel context.CancelFunc
			ctx, cancel = context.WithDeadline(ctx, end.Add(-min(scheduleReserve, end.Sub(start)/10)))
			defer cancel()
		}
		sent, err := outboxes.Deliver(ctx, b.table) // first, because people wait for alerts
		if err != nil {
			b.logger.Error("sending notifications failed", "error", err)
		}
		done := u.Once(ctx, time.Now)
		more, err := outboxes.Deliver(context.WithoutCancel(ctx), b.table)
		if err != nil {
			b.logger.Error("sending notifications failed", "error", err)
		}
		answer := map[string]int{"failed": done.Failed, "unfinished": done.Unfinished, "told": sent + more}
		figures := map[string]emf.Figure{"took": {Unit: emf.Milliseconds, Value: time.Since(start).Milliseconds()}}
		for name, n := range answer {
			figures[name] = emf.Figure{Unit: emf.Count, Value: int64(n)}
		}
		if err := b.metrics.Write(figures); err != nil {
			b.logger.Warn("cannot write metrics", "error", err)
		}
		return answer, nil
	}), nil
}

// foldedStream waits until everything is folded by folding it, in parallel with the function that
// folds; at worst work is done twice. Only erasures and purges need this, so the worker is created
// on first use.
type foldedStream struct {
	b   *base
	arn string

	mu     sync.Mutex
	worker *fold.Worker
}

// Drain implements reconcile.Folded.
func (f *foldedStream) Drain(ctx context.Context) error {
	w, err := f.open(ctx)
	if err != nil {
		return err
	}
	return w.Drain(ctx)
}

func (f *foldedStream) open(ctx context.Context) (*fold.Worker, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.worker != nil {
		return f.worker, nil
	}
	source, err := f.b.stream(ctx, f.arn)
	if err != nil {
		return nil, err
	}
	w, err := f.b.worker(source)
	f.worker = w
	return w, err
}
