package calls_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/onefold/onefold/engine/internal/calls"
)

// TestGate shuts a gate while many goroutines use it. After Wait no call is inside, and none gets
// in.
func TestGate(t *testing.T) {
	for range 200 {
		g := calls.New()
		var inside, let atomic.Int64
		var done sync.WaitGroup
		for range 4 {
			done.Go(func() {
				for {
					c, ok := g.Enter()
					if !ok {
						return
					}
					inside.Add(1)
					let.Add(1)
					inside.Add(-1)
					c.End()
				}
			})
		}
		for let.Load() < 10 {
			c, _ := g.Enter()
			c.End()
		}
		if !g.Close() || g.Close() {
			t.Fatal("a gate is shut once")
		}
		g.Wait()
		if n := inside.Load(); n != 0 {
			t.Fatalf("%d calls are inside", n)
		}
		if _, ok := g.Enter(); ok {
			t.Fatal("a shut gate let a call in")
		}
		done.Wait()
	}
}

// TestWait checks that Wait waits for the last call.
func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := calls.New()
		var under []calls.Call
		for range 100 {
			c, _ := g.Enter()
			under = append(under, c)
		}
		g.Close()
		var waited atomic.Bool
		go func() { g.Wait(); waited.Store(true) }()
		for _, c := range under {
			synctest.Wait()
			if waited.Load() {
				t.Fatal("a call is under way")
			}
			c.End()
		}
		synctest.Wait()
		if !waited.Load() {
			t.Error("no call is under way")
		}
	})
}

func BenchmarkCall(b *testing.B) {
	g := calls.New()
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			c, _ := g.Enter()
			c.End()
		}
	})
}
