package resilient

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"
)

// gate limits the number of requests in progress and the bytes they hold. When it is full, requests
// wait for a limited time; when too many are waiting, further ones are rejected. Pages of queries
// and scans may use only part of the bytes, and wait for it before they take anything else, so that
// they never block requests for single items.
type gate struct {
	requests, bytes, pages *semaphore.Weighted
	mostBytes, mostPages   int64
	mostWaiting            int64
	waitFor                time.Duration

	inside, waiting, held atomic.Int64
}

// held is what an admitted request has taken.
type held struct{ bytes, page int64 }

// errCrowded is the reason for rejecting a request.
var errCrowded = errors.New("crowded")

func newGate(o *Options) *gate {
	mostPages := o.InFlightBytes - o.InFlightBytes/4
	return &gate{
		requests: semaphore.NewWeighted(int64(o.InFlight)), bytes: semaphore.NewWeighted(o.InFlightBytes), pages: semaphore.NewWeighted(mostPages),
		mostBytes: o.InFlightBytes, mostPages: mostPages, mostWaiting: int64(o.Waiting), waitFor: o.WaitFor,
	}
}

// enter admits a request that holds about the given number of bytes. Call leave with the result.
// Errors: errCrowded and that of ctx.
func (g *gate) enter(ctx context.Context, bytes int64) (held, error) {
	h := held{bytes: min(bytes, g.mostBytes)} // a single request always fits
	if bytes >= onePage {
		h.bytes = min(bytes, g.mostPages)
		h.page = h.bytes
	}
	if g.atOnce(h) {
		return g.entered(h), nil
	}
	if g.waiting.Add(1) > g.mostWaiting {
		g.waiting.Add(-1)
		return held{}, errCrowded
	}
	defer g.waiting.Add(-1)
	short, cancel := context.WithTimeout(ctx, g.waitFor)
	defer cancel()
	if g.wait(short, h) == nil {
		return g.entered(h), nil
	}
	if ctx.Err() != nil {
		return held{}, ctx.Err()
	}
	return held{}, errCrowded
}

// atOnce takes what a request needs, if all of it is available now.
func (g *gate) atOnce(h held) bool {
	if h.page > 0 && !g.pages.TryAcquire(h.page) { // requests that need no page bytes must not queue for them
		return false
	}
	if g.requests.TryAcquire(1) {
		if g.bytes.TryAcquire(h.bytes) {
			return true
		}
		g.requests.Release(1)
	}
	g.pages.Release(h.page)
	return false
}

// wait takes what a request needs, all or nothing.
func (g *gate) wait(ctx context.Context, h held) error {
	if h.page > 0 {
		if err := g.pages.Acquire(ctx, h.page); err != nil {
			return err
		}
	}
	err := g.requests.Acquire(ctx, 1)
	if err == nil {
		if err = g.bytes.Acquire(ctx, h.bytes); err == nil {
			return nil
		}
		g.requests.Release(1)
	}
	g.pages.Release(h.page)
	return err
}

func (g *gate) entered(h held) held {
	g.inside.Add(1)
	g.held.Add(h.bytes)
	return h
}

func (g *gate) leave(h held) {
	g.inside.Add(-1)
	g.held.Add(-h.bytes)
	g.bytes.Release(h.bytes)
	g.requests.Release(1)
	g.pages.Release(h.page)
}
