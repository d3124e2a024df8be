package fold_test

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/fold"
)

// TestOneLeads has three processes want to do what one is to do. Who leads stops, or is paused for longer than its lease.
func TestOneLeads(t *testing.T) {
	clock := newClock()
	b := openEngine(t, engine.Options{Clock: clock.now})
	var working, terms, most atomic.Int64
	var group errgroup.Group
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	for i := range 3 {
		var paused atomic.Bool
		sleep := func(ctx context.Context, d time.Duration) error {
			runtime.Gosched()
			if paused.Load() {
				<-ctx.Done()
			}
			clock.add(d / 10)
			return ctx.Err()
		}
		group.Go(func() error {
			for ctx.Err() == nil {
				err := fold.Lead(ctx, skewed(b, clock, time.Duration(i)*time.Hour), "job", fold.LeadOptions{Sleep: sleep}, func(ctx context.Context) error {
					most.Store(max(most.Load(), working.Add(1)))
					defer working.Add(-1)
					if n := terms.Add(1); n >= 12 {
						stop()
					} else if n%3 == 0 {
						paused.Store(true) // the lease is not renewed any more
						defer paused.Store(false)
						for terms.Load() == n && ctx.Err() == nil {
							runtime.Gosched()
						}
						return nil
					}
					return nil
				})
				if err != nil && !errors.Is(err, context.Canceled) {
					return err
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	if terms.Load() < 12 {
		t.Errorf("there were %d terms, want 12", terms.Load())
	}
	if most.Load() > 2 { // one that was paused, and its successor
		t.Errorf("%d led at a time", most.Load())
	}
}
