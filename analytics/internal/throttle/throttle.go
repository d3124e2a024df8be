// Package throttle retries requests that the store throttled, a limited number of times.
package throttle

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/internal/backoff"
)

// Retry configures retries. Sleep waits, or returns the context's error; nil uses a timer.
type Retry struct {
	Sleep func(context.Context, time.Duration) error
}

// The number of retries, and the first delay. Delays double each time, with jitter.
const (
	maxThrottles  = 8
	firstThrottle = 20 * time.Millisecond
)

// Do calls request, and retries it while it is throttled. It does not retry if the API client has
// already given up after its own retries.
func (r Retry) Do(ctx context.Context, request func() error) error {
	wait := firstThrottle
	for try := 0; ; try++ {
		err := request()
		if _, gaveUp := dynamo.GaveUp(err); err == nil || gaveUp || !dynamo.IsThrottle(err) || try == maxThrottles {
			return err
		}
		if err := r.wait(ctx, wait/2+rand.N(wait)); err != nil {
			return err
		}
		wait *= 2
	}
}

func (r Retry) wait(ctx context.Context, d time.Duration) error {
	if r.Sleep != nil {
		return r.Sleep(ctx, d)
	}
	return backoff.For(ctx, d)
}
