// Package resilient makes requests to a shared or remote store robust. It is the only place where
// failed requests are retried: with full jitter, within a budget, and not at all while a circuit
// breaker considers the store unreachable. It limits the duration of requests and the number in
// progress, and reports why, and for which key, the store throttles. It wraps a dynamo.API and a
// dynamo.Streams. It is not useful for the embedded engine.
//
// Requests that are given up return a dynamo.Failure. Callers remain responsible for retries that
// depend on the meaning of the response: unprocessed items of batches, failed conditions, and
// conflicting transactions.
// batch left unprocessed, conditions and transactions that met others.
package resilient

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/onefold/onefold/internal/backoff"
)

// Options configure a Store. The zero value has good defaults.
type Options struct {
	// Timeouts for one response: for requests for single items, default 3 s; for several items and
	// queries, default 6 s; and for requests about tables, default 20 s.
	Single, Several, Control time.Duration
	// Within limits the duration of a request including retries. The default is 10 s, but at least
	// the timeout of one response.
	Within time.Duration

	// Patience is how long a request waits for an unreachable or overloaded store before it is
	// given up. The default 0 means not at all, so that clients of a server get an error soon. Use
	// it for background work, such as imports.
	Patience time.Duration

	Attempts int // maximum number of attempts per request; default 4
	// Budget is the total number of retries available without successful requests in between. Each
	// request that succeeds at once earns a fifth of a retry. Default 100.
	Budget int

	Failures int           // consecutive attempts without a response after which the store counts as unreachable; default 5
	OpenFor  time.Duration // how long requests are then blocked; doubles each time, up to 8 times as long; default 1 s

	InFlight      int           // concurrent requests; default 256
	InFlightBytes int64         // approximate bytes they hold; pages of queries and scans may use three quarters; default 64 MiB
	Waiting       int           // requests waiting to be sent; default 4,096. Further ones are rejected
	WaitFor       time.Duration // how long a request may wait to be sent; default 2 s

	// Show maps the first word of partition keys ("SITE" of "SITE#blog#3") to the number of
	// following words that may appear in logs. All other words are logged as hashes, because they
	// may identify people.
	Show map[string]int

	Clock  func() time.Time                           // default time.Now
	Sleep  func(context.Context, time.Duration) error // waits, or returns the context's error; default: a timer
	Random func() float64                             // in [0, 1); default math/rand
	Logger *slog.Logger                               // default: discards
}

func (o Options) withDefaults() Options {
	setDefault(&o.Single, 3*time.Second)
	setDefault(&o.Several, 6*time.Second)
	setDefault(&o.Control, 20*time.Second)
	setDefault(&o.Within, 10*time.Second)
	setDefault(&o.Attempts, 4)
	setDefault(&o.Budget, 100)
	setDefault(&o.Failures, 5)
	setDefault(&o.OpenFor, time.Second)
	setDefault(&o.InFlight, 256)
	setDefault(&o.InFlightBytes, 64<<20)
	setDefault(&o.Waiting, 4096)
	setDefault(&o.WaitFor, 2*time.Second)
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Sleep == nil {
		o.Sleep = backoff.For
	}
	if o.Random == nil {
		o.Random = rand.Float64
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

func setDefault[T int | int64 | time.Duration](v *T, d T) {
	if *v <= 0 {
		*v = d
	}
}
