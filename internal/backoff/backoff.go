// Package backoff sleeps for a duration, or until a context ends.
package backoff

import (
	"context"
	"time"
)

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
