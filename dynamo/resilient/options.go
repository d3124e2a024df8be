// Package resilient stands between the project and a store that others share, that is far away, or that can be away. It
// is the one place where requests are sent again that the store did not answer: with full jitter, within a budget, and
// not at all while a circuit breaker says that the store is away. It bounds how long a request may take and how many are
// under way, and tells why the store throttles, and for which key. It wraps a dynamo.API and a dynamo.Streams, and is no
// use around the embedded engine, which is none of that.
//
// What it gives up it answers with a dynamo.Failure. Loops above it that know what an error means stay theirs: what a
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
	// How long the store may take for one answer: to requests for single items, default 3 s; to those for several and to
	// queries, default 6 s; to those about tables, default 20 s.
	Single, Several, Control time.Duration
	// Within is how long a request may take with all that it is sent again, default 10 s, or one answer's time if that is
	// longer.
	Within time.Duration

	// Patience is how long a request waits for a store that does not answer, or that too many wait for, before it is given up. Default 0: not
	// at all, so that who asked a server hears of it. It is for work that nobody waits for, such as an import.
	Patience time.Duration

	Attempts int // how often a request is sent at most, default 4
	// Budget is how many times more, in all, requests may be sent again before others succeed: each that succeeds the first
	// time earns a fifth of one. Default 100.
	Budget int

	Failures int           // that follow each other without an answer before the store counts as unreachable; default 5
	OpenFor  time.Duration // how long it is then left alone, twice as long each time, up to 8 times; default 1 s

	InFlight      int           // requests under way at once, default 256
	InFlightBytes int64         // and the bytes that they hold, about, pages of queries and scans three quarters of these; default 64 MiB
	Waiting       int           // requests that wait to be under way; default 4,096. More are refused
	WaitFor       time.Duration // how long one may wait so, default 2 s

	// Show names the first words of partition keys ("SITE" of "SITE#blog#3") and how many of the words behind it may be
	// shown in logs; all others are shown as a hash, for they may name people.
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
