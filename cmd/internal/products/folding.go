package products

import (
	"context"
	"errors"
	"fmt"

	"github.com/onefold/onefold/fold"
)

// Folding runs a worker alongside work, and stops it when work is done. It cancels work if the worker
// fails, because work needs the folds.
func Folding(ctx context.Context, w *fold.Worker, work func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stopped := make(chan error, 1)
	workerCtx, stopWorker := context.WithCancel(ctx)
	defer stopWorker()
	go func() {
		err := w.Run(workerCtx)
		if err != nil && workerCtx.Err() == nil {
			cancel(fmt.Errorf("fold: %w", err))
		}
		stopped <- err
	}()
	err := work(ctx)
	if cause := context.Cause(ctx); errors.Is(err, context.Canceled) && cause != nil {
		err = cause
	}
	stopWorker()
	if folded := <-stopped; err == nil && folded != nil && !errors.Is(folded, context.Canceled) {
		err = folded
	}
	return err
}
