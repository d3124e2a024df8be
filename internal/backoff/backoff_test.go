package backoff_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/onefold/onefold/internal/backoff"
)

func TestFor(t *testing.T) {
	for name, c := range map[string]struct {
		d, ends, want time.Duration // ends 0: the context never does; negative: it has ended before
		err           error
	}{
		"passes":           {time.Minute, 0, time.Minute, nil},
		"nothing to wait":  {0, 0, 0, nil},
		"in the past":      {-time.Hour, 0, 0, nil},
		"the context ends": {time.Hour, time.Second, time.Second, context.DeadlineExceeded},
		"it ended before":  {time.Hour, -1, 0, context.DeadlineExceeded},
		"nor is it asked":  {0, -1, 0, context.DeadlineExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx := t.Context()
				if c.ends != 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, c.ends)
					defer cancel()
				}
				began := time.Now()
				err := backoff.For(ctx, c.d)
				if waited := time.Since(began); waited != c.want || !errors.Is(err, c.err) {
					t.Errorf("waited %v, %v; want %v, %v", waited, err, c.want, c.err)
				}
			})
		})
	}
}
