// Package throttle sends requests again that the store refused for their rate, a bounded number of times. It is a part of
// analytics, and used by nobody else.
package throttle

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/internal/backoff"
)

// Retry says how. Its Sleep waits, or returns the context's error; nil is a timer.
type Retry struct {
	Sleep func(context.Context, time.Duration) error
}

// How often a request that was throttled is sent again, and how long it waits: twice as long each time.
const (
	maxThrottles  = 8
	firstThrottle = 20 * time.Millisecond
)

// Do calls request, and again while it is throttled, a bounded number of times; not when whoever sends it has done so.
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
