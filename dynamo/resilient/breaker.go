package resilient

import (
	"sync"
	"time"
)

// State is what a circuit breaker thinks of the store.
type State string

// The states.
const (
	Closed   State = "closed"    // the store answers
	Open     State = "open"      // it did not, and is left alone
	HalfOpen State = "half_open" // one request finds out whether it does
)

// breaker spares a store that does not answer, and callers the wait for it. After some failures in a row it opens: no
// request is sent for a while. Then one is let through, a probe; it closes the breaker if there is an answer of any kind,
// else the breaker stays open for twice as long.
type breaker struct {
	failures int           // that open it
	openFor  time.Duration // the first time
	random   func() float64

	mu      sync.Mutex
	state   State
	since   time.Time // of the state
	until   time.Time // of Open
	row     int       // failures since the last answer
	opened  int       // times since it was closed
	probing bool
	trips   int64 // from closed to open
}

const maxOpenings = 3 // after which the time that it stays open doubles no more

// admission is what a request may do: be sent, as a probe or not, or wait.
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

// note hears what became of a request that was admitted, and says whether the state changed to Open or Closed by it.
func (b *breaker) note(a admission, o outcome, now time.Time) (changed State) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if a.probe {
		b.probing = false
	}
	switch {
	case o == ended: // its caller went away: it tells nothing of the store
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
	return "" // an answer to what was sent before the breaker opened
}

// open leaves the store alone for a while, which differs from process to process.
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

// Condition is what a breaker thinks, since when, how long the store is left alone yet, and how often it was called away.
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
