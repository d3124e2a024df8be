// Package backoff sleeps for a while, or until a context ends, between retries.
package backoff

import (
	"context"
	"time"
)

// For waits for d. It returns at once with the context's error when that ends first, and nil for a d that is not above
// zero unless the context has ended.
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
