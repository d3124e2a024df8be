package lease_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/fold/lease"
	"github.com/onefold/onefold/internal/backoff"
	"github.com/onefold/onefold/table"
)

// TestOnlyOneLeader has three processes, with clocks that are hours apart, compete for work that only
// one of them may do. One leader ends, and another is paused for longer than its lease.
func TestOnlyOneLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, err := engine.OpenMemory(engine.Options{TTLInterval: -1})
		if err != nil {
			t.Fatal(err)
		}
		if err := table.MustSchema("test", lease.Leases, lease.Of).Ensure(t.Context(), db, "table"); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		leads := make(chan int)
		var ends, pauses [3]chan struct{}
		var group errgroup.Group
		for i := range 3 {
			ends[i], pauses[i] = make(chan struct{}), make(chan struct{}, 1)
			sleep := func(ctx context.Context, d time.Duration) error {
				select {
				case <-pauses[i]:
					d = time.Hour
				default:
				}
				return backoff.For(ctx, d)
			}
			clock := func() time.Time { return time.Now().Add(time.Duration(i) * time.Hour) }
			group.Go(func() error {
				return lease.RunAsLeader(ctx, table.New(db, "table", table.Options{Clock: clock}), "job", lease.Options{Sleep: sleep}, func(ctx context.Context) error {
					leads <- i
					select {
					case <-ctx.Done():
						return ctx.Err()
					case <-ends[i]:
						return errors.New("has ended")
					}
				})
			})
		}
		first := <-leads
		pauses[first] <- struct{}{}
		second := <-leads // after the lease of the paused process has expired
		close(ends[second])
		third := <-leads
		if first == second || second == third || first == third {
			t.Errorf("%d, %d and %d led, one after the other", first, second, third)
		}
		time.Sleep(2 * time.Hour)
		select {
		case fourth := <-leads:
			t.Errorf("%d leads beside %d, which is well", fourth, third)
		default:
		}
		stop()
		if err := group.Wait(); err == nil {
			t.Error("the error of the work that ended is lost")
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
}
