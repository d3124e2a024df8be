package lease_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/fold/lease"
	"github.com/onefold/onefold/internal/backoff"
	"github.com/onefold/onefold/table"
)

// processes is a group of processes that share jobs. mu protects does.
type processes struct {
	*testing.T
	t     func(clock func() time.Time) *table.Table
	group errgroup.Group

	mu   sync.Mutex
	does map[string][]int // jobs by process, in the order in which they were taken
}

// join starts a process. Its sleep lasts an hour after something was sent to pause.
func (c *processes) join(ctx context.Context, name string, jobs int, ahead time.Duration, pause <-chan struct{}) {
	sleep := func(ctx context.Context, d time.Duration) error {
		select {
		case <-pause:
			d = time.Hour
		default:
		}
		return backoff.For(ctx, d)
	}
	clock := func() time.Time { return time.Now().Add(ahead) }
	c.group.Go(func() error {
		err := lease.RunShared(ctx, c.t(clock), "subscription", jobs, lease.Options{Owner: name, Sleep: sleep, Logger: slog.New(slog.DiscardHandler)}, func(ctx context.Context, job int) error {
			c.mu.Lock()
			c.does[name] = append(c.does[name], job)
			c.mu.Unlock()
			<-ctx.Done()
			c.mu.Lock()
			c.does[name] = slices.DeleteFunc(c.does[name], func(n int) bool { return n == job })
			c.mu.Unlock()
			return ctx.Err()
		})
		if !errors.Is(err, context.Canceled) {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	})
}

// isEven checks that each job is done once, and that processes differ by at most one job.
func (c *processes) isEven(when string, processes, jobs int) {
	c.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	least, most, sum := jobs, 0, 0
	for _, does := range c.does {
		least, most, sum = min(least, len(does)), max(most, len(does)), sum+len(does)
	}
	if sum != jobs || len(c.does) != processes || most-least > 1 {
		c.Errorf("%s: %d processes do %v", when, processes, c.does)
	}
}

// isShared checks how many jobs each process does, and that each job is done once.
func (c *processes) isShared(when string, want map[string]int) {
	c.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []int
	for name, jobs := range c.does {
		if len(jobs) != want[name] {
			c.Errorf("%s: %s does %v, want %d", when, name, jobs, want[name])
		}
		all = append(all, jobs...)
	}
	slices.Sort(all)
	if len(slices.Compact(slices.Clone(all))) != len(all) {
		c.Errorf("%s: jobs are done twice: %v", when, all)
	}
}

// newProcesses returns an empty group on a table with leases. The caller closes the engine.
func newProcesses(t *testing.T) (*processes, *engine.DB) {
	db, err := engine.OpenMemory(engine.Options{TTLInterval: -1})
	if err != nil {
		t.Fatal(err)
	}
	if err := table.MustSchema("test", lease.Leases, lease.Of).Ensure(t.Context(), db, "table"); err != nil {
		t.Fatal(err)
	}
	on := func(clock func() time.Time) *table.Table { return table.New(db, "table", table.Options{Clock: clock}) }
	return &processes{T: t, does: map[string][]int{}, t: on}, db
}

// Processes that start one after another get equal shares, however many there are already. Sets of processes
// with other names do not count.
func TestProcessesThatJoinOneByOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, db := newProcesses(t)
		ctx, stop := context.WithCancel(t.Context())
		c.group.Go(func() error {
			other := lease.Options{Owner: "other", Logger: slog.New(slog.DiscardHandler)}
			_ = lease.RunShared(ctx, c.t(time.Now), "another", 3, other, func(ctx context.Context, _ int) error { <-ctx.Done(); return ctx.Err() })
			return nil
		})
		for n := 1; n <= 8; n++ {
			c.join(ctx, fmt.Sprint("p", n), 16, time.Duration(n)*time.Hour, nil)
			time.Sleep(2 * lease.DefaultFor)
			synctest.Wait()
			c.isEven("after the last has joined", n, 16)
		}
		stop()
		if err := c.group.Wait(); err != nil {
			t.Error(err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
}

// Processes with clocks that are hours apart share jobs fairly, as they come, go, and pause.
func TestRunShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, db := newProcesses(t)
		settle := func() { time.Sleep(10 * time.Minute); synctest.Wait() }
		ctx, stop := context.WithCancel(t.Context())
		leaving, leave := context.WithCancel(ctx)
		pause := make(chan struct{})
		c.join(ctx, "a", 6, 0, nil)
		settle()
		c.isShared("alone", map[string]int{"a": 6})
		c.join(leaving, "b", 6, 5*time.Hour, nil)
		settle()
		c.isShared("two", map[string]int{"a": 3, "b": 3})
		c.join(ctx, "c", 6, -5*time.Hour, pause)
		settle()
		c.isShared("three", map[string]int{"a": 2, "b": 2, "c": 2})
		leave()
		time.Sleep(lease.DefaultFor) // it releases its leases, so that nobody waits until they expire
		synctest.Wait()
		c.isShared("one left", map[string]int{"a": 3, "c": 3})
		pause <- struct{}{}
		settle()
		c.mu.Lock()
		if len(c.does["a"]) != 6 {
			t.Errorf("a has taken %v from a process that pauses", c.does["a"])
		}
		c.mu.Unlock()
		time.Sleep(2 * time.Hour)
		settle()
		c.isShared("it goes on", map[string]int{"a": 3, "c": 3})
		stop()
		if err := c.group.Wait(); err != nil {
			t.Error(err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
}

// The error of a job ends all, and is returned.
func TestRunSharedEndsWithItsWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, db := newProcesses(t)
		on := c.t(nil)
		broken := errors.New("broken")
		for _, want := range []error{broken, nil} {
			err := lease.RunShared(t.Context(), on, "s", 3, lease.Options{}, func(ctx context.Context, job int) error {
				if job == 1 {
					return want
				}
				<-ctx.Done()
				return ctx.Err()
			})
			if err == nil || want != nil && !errors.Is(err, want) {
				t.Errorf("%v, want %v", err, want)
			}
		}
		for name, want := range map[string]error{"": lease.ErrName, "a#b": lease.ErrName} {
			if err := lease.RunShared(t.Context(), on, name, 1, lease.Options{}, nil); !errors.Is(err, want) {
				t.Errorf("name %q: %v", name, err)
			}
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
}
