package fold_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/fold/streamsource"
)

// failing is a source whose reads fail for some time.
type failing struct {
	fold.Source
	err   error
	fails func() bool
	reads int // failed reads
}

func (f *failing) Read(ctx context.Context, r fold.ReadRequest) (fold.Batch, error) {
	if f.fails() {
		f.reads++
		return fold.Batch{}, f.err
	}
	return f.Source.Read(ctx, r)
}

// A barrier is in a hurry, but it does not read a throttled shard more often than others would.
func TestBarrierBacksOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := openEngine(t, engine.Options{TTLInterval: -1})
		tab := b.table()
		put(t, tab, order{orderKey{"1"}, "r", 1})
		end := time.Now().Add(20 * time.Second)
		src := &failing{Source: streamsource.New(b.db, b.arn), err: &types.ProvisionedThroughputExceededException{}, fails: func() bool { return time.Now().Before(end) }}
		drain(t, newWorker(t, tab, src, fold.Options{Clock: time.Now, Random: func() float64 { return 0.5 }}, totalsFold()))
		if src.reads > 20 {
			t.Errorf("%d reads were throttled in 20 seconds, want at most 20", src.reads)
		}
		if late := time.Since(end); late > 5*time.Second {
			t.Errorf("done %s after the end of throttling, want at most 5 s", late)
		}
		if got, err := totals.Get(t.Context(), tab, totalKey{"r"}); err != nil || got.Amount != 1 {
			t.Errorf("the total is %+v (%v), want 1", got, err)
		}
	})
}

// A barrier ends with the failure of a shard that cannot be read, also when the clock stands still.
func TestBarrierFails(t *testing.T) {
	still := time.Now()
	for name, clock := range map[string]func() time.Time{"moving clock": time.Now, "still clock": func() time.Time { return still }} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := openEngine(t, engine.Options{TTLInterval: -1})
				broken := errors.New("broken")
				src := &failing{Source: streamsource.New(b.db, b.arn), err: broken, fails: func() bool { return true }}
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
				defer cancel()
				w := newWorker(t, b.table(), src, fold.Options{Clock: clock}, totalsFold())
				if err := w.Drain(ctx); !errors.Is(err, broken) {
					t.Errorf("%v, want %v", err, broken)
				}
				if src.reads != 10 {
					t.Errorf("%d reads, want 10", src.reads)
				}
			})
		})
	}
}
