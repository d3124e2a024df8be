package analytics

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/onefold/onefold/dynamo"
)

// throttled sends requests again that the store refused for their rate. Its sleep waits, or returns the context's
// error; nil is a timer.
type throttled struct {
	sleep func(context.Context, time.Duration) error
}

// How often a request that was throttled is sent again, and how long it waits: twice as long each time.
const (
	maxThrottles  = 8
	firstThrottle = 20 * time.Millisecond
)

// do calls request, and again while it is throttled, a bounded number of times.
func (t throttled) do(ctx context.Context, request func() error) error {
	wait := firstThrottle
	for try := 0; ; try++ {
		err := request()
		if err == nil || !dynamo.IsThrottle(err) || try == maxThrottles {
			return err
		}
		if err := t.wait(ctx, wait/2+rand.N(wait)); err != nil {
			return err
		}
		wait *= 2
	}
}

func (t throttled) wait(ctx context.Context, d time.Duration) error {
	if t.sleep != nil {
		return t.sleep(ctx, d)
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
