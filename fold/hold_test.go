package fold_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/table"
)

// An item of a fold with Hold is written once for what many flushes have seen. Until then the checkpoint stays behind, so
// whoever begins anew folds it; what another has written meanwhile is not counted again.
func TestHoldWritesOnce(t *testing.T) {
	for _, other := range []bool{false, true} {
		t.Run(fmt.Sprintf("another worker comes between: %t", other), func(t *testing.T) {
			at := newClock()
			b := openEngine(t, engine.Options{Clock: at.now})
			tab := table.New(b.db, "table", table.Options{Clock: at.now})
			held := func(o fold.Options) *fold.Worker {
				return newWorker(t, tab, fold.Streams(b.db, b.arn), o, totalsFold().With(fold.Hold(10*time.Second)))
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var w *fold.Worker
			second := 0
			w = held(fold.Options{FlushAge: time.Second, Poll: time.Second, Sleep: func(context.Context, time.Duration) error {
				at.add(time.Second)
				switch second++; {
				case second <= 8:
					put(t, tab, order{orderKey{fmt.Sprint(second)}, "eu", 10})
				case second == 9:
					if s := w.Status(); s.Writes != 0 || s.Waiting != 8 || s.Flushes < 5 {
						t.Errorf("before its time: %d writes, %d changes waiting, %d flushes", s.Writes, s.Waiting, s.Flushes)
					}
					if other {
						drain(t, held(fold.Options{}))
					}
				case second == 20:
					cancel()
				}
				return ctx.Err()
			}})
			if err := w.Run(ctx); err != nil {
				t.Fatal(err)
			}
			want, skipped := int64(1), int64(0)
			if other {
				want, skipped = 0, 8
			}
			if s := w.Status(); s.Writes != want || s.Skipped != skipped || s.Waiting != 0 {
				t.Errorf("%d writes, %d skipped, %d waiting; want %d, %d, 0", s.Writes, s.Skipped, s.Waiting, want, skipped)
			}
			if got, err := totals.Get(t.Context(), tab, totalKey{"eu"}); err != nil || got.Orders != 8 || got.Amount != 80 {
				t.Errorf("the total is %+v, error %v", got, err)
			}
			again := held(fold.Options{})
			drain(t, again)
			if s := again.Status(); s.Changes != 0 {
				t.Errorf("the checkpoint is %d changes behind what is written", s.Changes)
			}
		})
	}
}
