package resilient

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"
)

// gate bounds how many requests are under way and what they hold. Those that find it full wait in line for a while; when
// too many do, the next is turned away.
type gate struct {
	requests, bytes *semaphore.Weighted
	mostBytes       int64
	mostWaiting     int64
	waitFor         time.Duration

	inside, waiting, held atomic.Int64
}

// errCrowded is why a request is not let in.
var errCrowded = errors.New("crowded")

func newGate(o *Options) *gate {
	return &gate{
		requests: semaphore.NewWeighted(int64(o.InFlight)), bytes: semaphore.NewWeighted(o.InFlightBytes),
		mostBytes: o.InFlightBytes, mostWaiting: int64(o.Waiting), waitFor: o.WaitFor,
	}
}

// enter lets a request in that holds about so many bytes; leave has to be called with what it returns. Errors: errCrowded,
// those of ctx.
func (g *gate) enter(ctx context.Context, bytes int64) (int64, error) {
	bytes = min(bytes, g.mostBytes) // a single one is always let in
	if g.requests.TryAcquire(1) {
		if g.bytes.TryAcquire(bytes) {
			return g.entered(bytes), nil
		}
		g.requests.Release(1)
	}
	if g.waiting.Add(1) > g.mostWaiting {
		g.waiting.Add(-1)
		return 0, errCrowded
	}
	defer g.waiting.Add(-1)
	short, cancel := context.WithTimeout(ctx, g.waitFor)
	defer cancel()
	err := g.requests.Acquire(short, 1)
	if err == nil {
		if err = g.bytes.Acquire(short, bytes); err == nil {
			return g.entered(bytes), nil
		}
		g.requests.Release(1)
	}
	if ctx.Err() != nil {
		return 0, ctx.Err()
	}
	return 0, errCrowded
}

func (g *gate) entered(bytes int64) int64 {
	g.inside.Add(1)
	g.held.Add(bytes)
	return bytes
}

func (g *gate) leave(bytes int64) {
	g.inside.Add(-1)
	g.held.Add(-bytes)
	g.bytes.Release(bytes)
	g.requests.Release(1)
}
