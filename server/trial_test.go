package server

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestTrial tries writes that succeed, fail, and stall: one runs at a time, and nobody waits long
// for it.
func TestTrial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, let := 0, make(chan error)
		tr := &trial{clock: time.Now, try: func(context.Context) error { began++; return <-let }}
		finds := func(want error, after time.Duration) {
			t.Helper()
			start := time.Now()
			if err := tr.run(t.Context()); !errors.Is(err, want) || time.Since(start) != after {
				t.Errorf("it finds %v after %s, want %v after %s", err, time.Since(start), want, after)
			}
		}
		failed := errors.New("failed")
		go func() { let <- nil }()
		finds(nil, 0)
		finds(nil, 0) // the recent result
		time.Sleep(tryEvery)
		go func() { let <- failed }()
		finds(failed, 0)
		time.Sleep(tryEvery)
		finds(errNoAnswer, tryWithin) // it stalls
		finds(errNoAnswer, tryWithin)
		if began != 3 {
			t.Errorf("%d writes were begun, want 3", began)
		}
		let <- nil
		synctest.Wait()
		finds2 := make(chan error)
		go func() { finds2 <- tr.run(t.Context()) }()
		let <- nil
		if err := <-finds2; err != nil || began != 4 {
			t.Errorf("after the stall: %v, %d writes were begun", err, began)
		}
		if err := (&trial{}).run(t.Context()); err != nil {
			t.Errorf("without a write to try: %v", err)
		}
	})
}
