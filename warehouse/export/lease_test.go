package export

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/onefold/onefold/engine/enginetest"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/table"
)

// One of several works; when it stops, or is never heard of again, another does.
func TestTurns(t *testing.T) {
	db := enginetest.New(t)
	leases := table.MustSchema("leases", fold.Schema)
	if err := leases.Ensure(t.Context(), db, "leases"); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		in := table.New(db, "leases", table.Options{Clock: time.Now})
		var working, most atomic.Int32
		began := map[string]chan time.Time{}
		var stops []context.CancelFunc
		for _, owner := range []string{"a", "b", "c"} {
			ctx, stop := context.WithCancel(context.Background())
			stops = append(stops, stop)
			began[owner] = make(chan time.Time, 100)
			turns := &Turns{Table: in, Owner: owner, For: 30 * time.Second}
			go func() {
				_ = turns.Run(ctx, func(ctx context.Context) error {
					most.Store(max(most.Load(), working.Add(1)))
					began[owner] <- time.Now()
					<-ctx.Done()
					working.Add(-1)
					return ctx.Err()
				})
			}()
			time.Sleep(time.Second)
		}
		time.Sleep(5 * time.Minute)
		if working.Load() != 1 || len(began["a"]) != 1 || len(began["b"])+len(began["c"]) != 0 {
			t.Fatalf("%d work", working.Load())
		}
		stops[0]()
		time.Sleep(45 * time.Second)
		if working.Load() != 1 || len(began["b"])+len(began["c"]) != 1 {
			t.Errorf("after it has stopped %d work", working.Load())
		}
		stops[1]()
		stops[2]()
		time.Sleep(time.Minute)
		if working.Load() != 0 || most.Load() != 1 {
			t.Errorf("%d work, at most %d did", working.Load(), most.Load())
		}
		// One that took its turn and died is waited for, and not for ever.
		dead := &Turns{Table: in, Owner: "dead", For: 30 * time.Second}
		if turn, err := dead.take(context.Background()); turn == 0 || err != nil {
			t.Fatal(turn, err)
		}
		died := time.Now()
		ctx, stop := context.WithCancel(context.Background())
		took := make(chan time.Time, 1)
		go func() {
			_ = (&Turns{Table: in, Owner: "heir", For: 30 * time.Second}).Run(ctx, func(ctx context.Context) error {
				took <- time.Now()
				<-ctx.Done()
				return ctx.Err()
			})
		}()
		if after := (<-took).Sub(died); after < 30*time.Second || after > 50*time.Second {
			t.Errorf("it was taken over after %s", after)
		}
		stop()
		time.Sleep(time.Minute)
	})
}
