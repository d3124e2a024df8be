// Package backoff says how long to wait before a retry, and waits.
package backoff

import (
	"context"
	"math/rand/v2"
	"time"
)

// Delay returns how long to wait before retry n, counted from 0: a random time below first·2ⁿ, at most
// most. https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/ calls it full
// jitter.
func Delay(n int, first, most time.Duration) time.Duration {
	return rand.N(min(first<<min(n, 20), most)) + 1
}

// For waits for d. If ctx ends first, it returns the context's error at once. If d is zero or
// negative, it returns the context's error without waiting.
func For(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil || d <= 0 {
		return err
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
