package fold

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/onefold/onefold/dynamo"
)

const (
	backoffFirst = 5 * time.Millisecond
	backoffMost  = 5 * time.Second
)

// backoff returns how long to wait before attempt n, counted from 1: exponential backoff with full
// jitter. https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/
func (w *Worker) backoff(n int) time.Duration {
	most := min(backoffFirst<<min(n, 20), backoffMost)
	return time.Duration(w.o.Random()*float64(most)) + time.Millisecond
}

// transient reports whether a request may succeed if it is repeated soon. Requests that the client
// below has given up are not transient: the turn ends, and the next one begins after a pause.
func transient(err error) bool {
	if _, gaveUp := dynamo.GaveUp(err); gaveUp || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	switch dynamo.Code(err) {
	case "", "InternalServerError", "InternalServerErrorException", "ServiceUnavailable", "TransactionInProgressException":
		return true // errors without a code come from the network, not from the API
	}
	return dynamo.IsThrottle(err)
}

// retry sends a request until it succeeds, fails permanently, or has been repeated Options.Retries
// times.
func (w *Worker) retry(ctx context.Context, send func() error) error {
	for attempt := 1; ; attempt++ {
		err := send()
		if err == nil || !transient(err) || attempt > w.o.Retries || ctx.Err() != nil {
			return err
		}
		w.counts.retries.Add(1)
		if dynamo.IsThrottle(err) {
			w.counts.throttles.Add(1)
		}
		if err := w.o.Sleep(ctx, w.backoff(attempt)); err != nil {
			return err
		}
	}
}

// each calls f for 0 to n-1, at most limit at a time. After the first error it starts no further
// calls. With a limit of 1 everything runs in the calling goroutine.
func (w *Worker) each(limit, n int, f func(i int) error) error {
	if limit <= 1 || n <= 1 {
		for i := range n {
			if err := f(i); err != nil {
				return err
			}
		}
		return nil
	}
	g, failed := errgroup.WithContext(context.Background())
	g.SetLimit(limit)
	for i := range n {
		g.Go(func() error {
			if failed.Err() != nil {
				return nil
			}
			return f(i)
		})
	}
	return g.Wait()
}
