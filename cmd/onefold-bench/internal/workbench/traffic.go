package workbench

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/onefold/onefold/cmd/internal/delays"
)

// Traffic is sent with a simulated clock and folded as in a server. Only that clock decides, so the
// result does not depend on the machine.
type Traffic struct {
	Open    Open
	Dir     string
	Delays  delays.Flags
	Begin   time.Time
	Prepare func(ctx context.Context, s *Store) error // creates what the traffic needs; not measured
	// Send stores the data due at a time. more reports whether some is not due yet.
	Send func(ctx context.Context, now time.Time) (more bool, err error)
}

// errOver ends a worker when everything is sent and folded.
var errOver = errors.New("all is sent and folded")

// idleSleeps is the number of sleeps without changes after which the worker's last flush can cause
// no more changes.
const idleSleeps = 3

// Use holds write units, by kind of item, and read units.
type Use struct {
	Writes Units
	Reads  float64
}

// Per returns the use divided by n.
func (u Use) Per(n float64) Use { return Use{u.Writes.Per(n), u.Reads / n} }

// Use sends the traffic, and returns the units used, including all derived items.
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

// handClock is a clock that is set manually.
type handClock struct{ nanos atomic.Int64 }

func (c *handClock) now() time.Time { return time.Unix(0, c.nanos.Load()).UTC() }
