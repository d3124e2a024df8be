package workbench

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/onefold/onefold/cmd/internal/delays"
)

// Traffic comes in while a clock goes that nobody waits for, and is folded as a server would. That clock decides, so what
// is measured does not depend on the machine.
type Traffic struct {
	Open    Open
	Dir     string
	Delays  delays.Flags
	Begin   time.Time
	Prepare func(ctx context.Context, s *Store) error // makes what must be there; does not count
	// Send stores what is due at a time. more: there is some that is not due yet.
	Send func(ctx context.Context, now time.Time) (more bool, err error)
}

// errOver ends a worker when all is sent and folded.
var errOver = errors.New("all is sent and folded")

// idleSleeps is how often a worker sleeps with nothing waiting until nothing can come of its last flush any more.
const idleSleeps = 3

// Use is how many write units, by kind of item, and read units were used.
type Use struct {
	Writes Units
	Reads  float64
}

// Per is the use of one of n.
func (u Use) Per(n float64) Use { return Use{u.Writes.Per(n), u.Reads / n} }

// Use sends the traffic, and returns the units that it and everything derived from it took.
func (t *Traffic) Use(ctx context.Context) (Use, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var clock handClock
	clock.nanos.Store(t.Begin.UnixNano())
	var s *Store
	started, idle := false, 0
	sleep := func(ctx context.Context, d time.Duration) error {
		clock.nanos.Add(int64(d))
		if !started {
			return ctx.Err()
		}
		more, err := t.Send(ctx, clock.now())
		if idle++; more || s.Worker.Status().Waiting > 0 {
			idle = 0
		}
		if err == nil && idle > idleSleeps {
			err = errOver
		}
		if err != nil {
			cancel(err)
		}
		return ctx.Err()
	}
	s, err := t.Open(ctx, t.Dir, Time{clock.now, sleep, t.Delays})
	if err != nil {
		return Use{}, err
	}
	err = t.Prepare(ctx, s)
	writes, reads := s.WriteUnits(), s.ReadUnits()
	if started = true; err == nil {
		err = s.Worker.Run(ctx)
	}
	if cause := context.Cause(ctx); !errors.Is(cause, errOver) {
		err = errors.Join(err, cause)
	}
	return Use{s.WriteUnits().less(writes), s.ReadUnits() - reads}, errors.Join(err, s.DB.Close())
}

// handClock is a time that is set by hand.
type handClock struct{ nanos atomic.Int64 }

func (c *handClock) now() time.Time { return time.Unix(0, c.nanos.Load()).UTC() }
