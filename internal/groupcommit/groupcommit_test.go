package groupcommit

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Every call runs once and gets its own result, in batches within the limits, in any order of
// arrival.
func TestEachGetsItsOwn(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for range 20 {
		most, atOnce := 1+random.IntN(8), 1+random.IntN(3)
		var under, done atomic.Int64
		g := New(most, atOnce, func(_ context.Context, ins []int) []int {
			if len(ins) == 0 || len(ins) > most {
				t.Errorf("a batch of %d, at most %d are allowed", len(ins), most)
			}
			if n := under.Add(1); n > int64(atOnce) {
				t.Errorf("%d batches at once, at most %d are allowed", n, atOnce)
			}
			outs := make([]int, len(ins))
			for i, in := range ins {
				outs[i] = 2*in + 1
				runtime.Gosched()
			}
			done.Add(int64(len(ins)))
			under.Add(-1)
			return outs
		})
		if random.IntN(2) == 0 {
			g.Linger(time.Duration(random.IntN(50)) * time.Microsecond)
		}
		const callers, calls = 16, 200
		var wait sync.WaitGroup
		for caller := range callers {
			wait.Go(func() {
				for n := range calls {
					in := caller*calls + n
					if out := g.Do(t.Context(), in); out != 2*in+1 {
						t.Errorf("%d gives %d, want %d", in, out, 2*in+1)
					}
				}
			})
		}
		wait.Wait()
		if done.Load() != callers*calls || g.running != 0 || len(g.waiting) != 0 {
			t.Fatalf("%d calls done of %d, %d batches under way, %d waiting", done.Load(), callers*calls, g.running, len(g.waiting))
		}
	}
}

// Calls that arrive while a batch runs form the next one, even if the first caller's context ends.
func TestTogether(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	entered, release := make(chan int, 2), make(chan struct{})
	g := New(100, 1, func(ctx context.Context, ins []int) []error {
		entered <- len(ins)
		<-release
		errs := make([]error, len(ins))
		for i := range errs {
			errs[i] = ctx.Err()
		}
		return errs
	})
	var wait sync.WaitGroup
	ask := func() {
		if err := g.Do(ctx, 0); err != nil {
			t.Error(err)
		}
	}
	wait.Go(ask)
	if n := <-entered; n != 1 {
		t.Fatalf("the first batch has %d calls, want 1", n)
	}
	const more = 10
	for range more {
		wait.Go(ask)
	}
	for waiting := 0; waiting < more; runtime.Gosched() {
		g.mu.Lock()
		waiting = len(g.waiting)
		g.mu.Unlock()
	}
	cancel()
	close(release)
	wait.Wait()
	if n := <-entered; n != more {
		t.Fatalf("the second batch has %d calls, want %d", n, more)
	}
}

// A lingering batch accepts further calls, and runs as soon as it is full.
func TestLinger(t *testing.T) {
	sizes, over := make(chan int, 10), make(chan time.Time)
	g := New(4, 2, func(_ context.Context, ins []int) []int {
		sizes <- len(ins)
		return ins
	})
	g.Linger(time.Second)
	lingers := make(chan struct{}, 10)
	g.after = func(d time.Duration) <-chan time.Time {
		if d != time.Second {
			t.Errorf("it lingers %v", d)
		}
		lingers <- struct{}{}
		return over
	}
	var wait sync.WaitGroup
	ask := func(n int) {
		wait.Go(func() {
			if got := g.Do(t.Context(), n); got != n {
				t.Errorf("%d gives %d", n, got)
			}
		})
	}
	ask(1)
	<-lingers
	ask(2)
	for g.Waiting() != 1 {
		runtime.Gosched()
	}
	over <- time.Time{}
	if n := <-sizes; n != 2 {
		t.Errorf("the first batch has %d calls, want 2", n)
	}
	wait.Wait()
	for n := range 4 {
		ask(n)
	}
	if n := <-sizes; n != 4 {
		t.Errorf("a full batch has %d calls, want 4", n)
	}
	wait.Wait()
	if g.running != 0 || len(g.waiting) != 0 || g.full != nil {
		t.Errorf("%d run, %d wait", g.running, len(g.waiting))
	}
}

// A batch that panics fails its caller, and neither the other calls of the batch nor later ones
// block forever.
func TestPanic(t *testing.T) {
	g := New(10, 1, func(_ context.Context, ins []int) []int {
		if ins[0] == 0 {
			panic("no")
		}
		return ins
	})
	func() {
		defer func() { _ = recover() }() // the caller's own affair
		g.Do(t.Context(), 0)
	}()
	if got := g.Do(t.Context(), 7); got != 7 {
		t.Fatalf("got %d after a panic, want 7", got)
	}
}

// A caller that gives up leaves the queue, unless its call is in a batch.
func TestGiveUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ran []int
		release := make(chan struct{})
		g := New(2, 1, func(_ context.Context, ins []int) []int {
			<-release
			ran = append(ran, ins...)
			return ins
		})
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for i := range 4 {
			all.Go(func() {
				mine := t.Context()
				if i == 0 || i == 2 { // 0 is in a batch when it gives up
					mine = ctx
				}
				out, err := g.DoContext(mine, i)
				if i == 2 && !errors.Is(err, context.Canceled) || i != 2 && (out != i || err != nil) {
					t.Errorf("call %d: %d, %v", i, out, err)
				}
			})
			synctest.Wait()
		}
		cancel()
		synctest.Wait()
		if n := g.Waiting(); n != 2 {
			t.Errorf("%d wait, want 2", n)
		}
		close(release)
		all.Wait()
		if want := []int{0, 1, 3}; !slices.Equal(ran, want) {
			t.Errorf("%v ran, want %v", ran, want)
		}
	})
}
