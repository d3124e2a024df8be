package resilient

import (
	"sync"
	"time"
)

// State is the state of a circuit breaker.
type State string

// The states.
const (
	Closed   State = "closed"    // the store responds
	Open     State = "open"      // the store did not respond; requests are not sent
	HalfOpen State = "half_open" // one request tests whether the store responds
)

// breaker is a circuit breaker, which protects an unresponsive store from requests, and callers
// from waiting for it. It opens after several consecutive failures, and no requests are sent for a
// while. Then a single probe is allowed: any response closes the breaker; otherwise it stays open
// for twice as long.
type breaker struct {
	failures int           // consecutive failures that open it
	openFor  time.Duration // the first time; doubles afterwards
	random   func() float64

	mu      sync.Mutex
	state   State
	since   time.Time // start of the state
	until   time.Time // end of Open
	row     int       // failures since the last response
	opened  int       // times it opened since it was closed
	probing bool
	trips   int64 // number of changes from closed to open
}

const maxOpenings = 3 // the open time stops doubling after this many times

// admission decides about a request: whether to send it, possibly as a probe, or how long to wait.
type admission struct {
	ok, probe bool
	wait      time.Duration
}

func (b *breaker) admit(now time.Time) admission {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.state == Closed:
		return admission{ok: true}
	case now.Before(b.until):
		return admission{wait: b.until.Sub(now)}
	case b.probing:
		return admission{wait: b.openFor}
	}
	b.probing = true
	b.become(HalfOpen, now)
	return admission{ok: true, probe: true}
}

// note records the outcome of an admitted request. It returns the new state if it changed to Open
// or Closed, else "".
func (b *breaker) note(a admission, o outcome, now time.Time) (changed State) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if a.probe {
		b.probing = false
	}
	switch {
	case o == ended: // the caller gave up, which says nothing about the store
		return ""
	case o != down && (a.probe || b.state == Closed):
		b.row, b.opened = 0, 0
		if b.state == Closed {
			return ""
		}
		b.become(Closed, now)
		return Closed
	case o == down && a.probe:
		b.open(now)
		return ""
	case o == down && b.state == Closed:
		if b.row++; b.row >= b.failures {
			b.trips++
			b.open(now)
			return Open
		}
	}
	return "" // response to a request sent before the breaker opened
}

// open opens the breaker for a randomized time, so that processes do not probe simultaneously.
func (b *breaker) open(now time.Time) {
	wait := b.openFor << min(b.opened, maxOpenings)
	b.opened++
	b.until = now.Add(wait/2 + time.Duration(b.random()*float64(wait/2)))
	b.become(Open, now)
}

func (b *breaker) become(s State, now time.Time) {
	if b.state != s {
		b.state, b.since = s, now
	}
}

// Condition is the state of a breaker: since when, how long requests are still blocked, and how
// often it opened.
type Condition struct {
	State State
	Since time.Time
	Wait  time.Duration
	Trips int64
}

func (b *breaker) condition(now time.Time) Condition {
	b.mu.Lock()
	defer b.mu.Unlock()
	return Condition{State: b.state, Since: b.since, Wait: max(b.until.Sub(now), 0), Trips: b.trips}
}
