package server

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/onefold/onefold/dynamo"
)

// The interval between trial writes, and their time limit. Requests in between get the last result.
const (
	tryEvery  = time.Second
	tryWithin = 1500 * time.Millisecond
)

// errNoAnswer is returned when a write did not complete in time.
var errNoAnswer = errors.New("a write did not complete within " + tryWithin.String())

// trial checks whether writes succeed, one at a time: on a disk that stalls, only one goroutine
// waits.
type trial struct {
	try   func(context.Context) error // nil: no writes are tried
	clock func() time.Time

	mu    sync.Mutex    // guards the fields below
	under chan struct{} // closed when the current write returns; nil if there is none
	at    time.Time     // when the last write began
	found error         // result of the last write that returned
}

// run tries a write, or returns the last result if a write was tried just before.
func (t *trial) run(ctx context.Context) error {
	if t.try == nil {
		return nil
	}
	done, found := t.begin(ctx)
	if done == nil {
		return found
	}
	late := time.NewTimer(tryWithin)
	defer late.Stop()
	select {
	case <-done:
		t.mu.Lock()
		defer t.mu.Unlock()
		return t.found
	case <-late.C:
		return errNoAnswer
	}
}

// begin starts a write, unless one is running, and returns a channel that is closed when the write
// ends. If a write was tried just before, the channel is nil and found is its result.
func (t *trial) begin(ctx context.Context) (done chan struct{}, found error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.clock()
	if t.under != nil {
		return t.under, nil
	}
	if age := now.Sub(t.at); !t.at.IsZero() && age >= 0 && age < tryEvery {
		return nil, t.found
	}
	done = make(chan struct{})
	t.under, t.at = done, now
	go func() {
		err := t.try(context.WithoutCancel(ctx))
		t.mu.Lock()
		defer t.mu.Unlock()
		t.under, t.found = nil, err
		close(done)
	}()
	return done, nil
}

// Statuses of writes that fail, as health checks report them.
const (
	diskFull   = "full"
	unwritable = "unwritable"
)

// trouble returns the status and the reason that a trial write found, or "" if writes succeed.
func (s *Server) trouble(ctx context.Context) (status, reason string) {
	switch err := s.writes.run(ctx); {
	case err == nil:
		return "", ""
	case dynamo.IsFull(err):
		return diskFull, "The disk is nearly full. Requests that add data are rejected; reads and deletes work. Free space or enlarge the disk."
	default:
		s.o.Logger.ErrorContext(ctx, "health: a trial write failed", "error", err)
		return unwritable, "A write failed or timed out. The log has the reason."
	}
}
