package server

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/onefold/onefold/dynamo"
)

// How often a write is tried, and how long it may take: whoever asks more often is told what the last one found.
const (
	tryEvery  = time.Second
	tryWithin = 1500 * time.Millisecond
)

// errNoAnswer is returned when a write has not got through in time.
var errNoAnswer = errors.New("a write has not got through in " + tryWithin.String())

// trial tries whether writes get through, one at a time: on a disk that stalls, one goroutine waits for it and no more.
type trial struct {
	try   func(context.Context) error // nil: it is not tried
	clock func() time.Time

	mu    sync.Mutex
	under chan struct{} // closed when the write under way has returned; nil: none is
	at    time.Time     // when the last one was begun
	found error         // by the last one that returned
}

// run tries a write, or tells what the one found that was tried just now.
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

// begin begins a write unless one is under way, and returns what tells of its end; nil when the last was tried just now.
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

// Kinds of writes that do not get through, as health tells them.
const (
	diskFull   = "full"
	unwritable = "unwritable"
)

// trouble is what a trial finds, in a word and in a sentence; "" for none.
func (s *Server) trouble(ctx context.Context) (status, reason string) {
	switch err := s.writes.run(ctx); {
	case err == nil:
		return "", ""
	case dynamo.IsFull(err):
		return diskFull, "The disk is nearly full: what adds to it is refused, reads and deletes go on. Free space or enlarge the disk."
	default:
		s.o.Logger.ErrorContext(ctx, "health: a write did not get through", "error", err)
		return unwritable, "A write did not get through. The log says why."
	}
}
