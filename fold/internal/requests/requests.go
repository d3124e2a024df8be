// Package requests sends the requests of the stream runtime. It repeats what may succeed if it is
// sent again, and reads many items at a time.
package requests

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/internal/backoff"
	"github.com/onefold/onefold/table"
)

const (
	backoffFirst   = 5 * time.Millisecond
	backoffMost    = 5 * time.Second
	defaultRetries = 8
)

// Options configure a Client. The zero value has good defaults.
type Options struct {
	Retries int                                        // how often a failed request is repeated; default 8
	Sleep   func(context.Context, time.Duration) error // waits, or returns the context's error; default: a timer
	Random  func() float64                             // jitter in [0, 1); default math/rand
}

// Client sends requests to a table. It is safe for concurrent use.
type Client struct {
	Table *table.Table
	o     Options

	Read      atomic.Int64 // items read
	Repeated  atomic.Int64 // requests sent again
	Throttled atomic.Int64 // requests refused by rate limits
}

// New returns a client of a table.
func New(t *table.Table, o Options) *Client {
	if o.Retries == 0 {
		o.Retries = defaultRetries
	}
	if o.Sleep == nil {
		o.Sleep = backoff.For
	}
	if o.Random == nil {
		o.Random = rand.Float64
	}
	return &Client{Table: t, o: o}
}

// Sleep waits for d. If ctx ends first, it returns the context's error.
func (c *Client) Sleep(ctx context.Context, d time.Duration) error { return c.o.Sleep(ctx, d) }

// Backoff returns how long to wait before attempt n, counted from 1: exponential backoff with full
// jitter. https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/
func (c *Client) Backoff(n int) time.Duration {
	most := min(backoffFirst<<min(n, 20), backoffMost)
	return time.Duration(c.o.Random()*float64(most)) + time.Millisecond
}

// Retry sends a request until it succeeds, fails permanently, or has been repeated Options.Retries
// times.
func (c *Client) Retry(ctx context.Context, send func() error) error {
	for attempt := 1; ; attempt++ {
		err := send()
		if err == nil || !Transient(err) || attempt > c.o.Retries || ctx.Err() != nil {
			return err
		}
		c.Repeated.Add(1)
		if dynamo.IsThrottle(err) {
			c.Throttled.Add(1)
		}
		if err := c.Sleep(ctx, c.Backoff(attempt)); err != nil {
			return err
		}
	}
}

// Transient reports whether a request may succeed if it is repeated soon. Requests that the client
// below has given up are not transient: the turn ends, and the next one begins after a pause.
func Transient(err error) bool {
	if _, gaveUp := dynamo.GaveUp(err); gaveUp || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	switch dynamo.Code(err) {
	case "", "InternalServerError", "InternalServerErrorException", "ServiceUnavailable", "TransactionInProgressException":
		return true // errors without a code come from the network, not from the API
	}
	return dynamo.IsThrottle(err)
}
