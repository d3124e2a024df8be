// Package presence says which devices are online, and which fleets fell silent as a whole. Whoever keeps a table calls Sweep.
//
// A device is online while it is heard of as often as usual: telemetry.Status.At has the rule. Readings of the past are no sign of
// life, whenever they arrive. Nothing is heard while nobody listens, so silence counts from Listening.Since at the earliest: a
// server that was away for hours does not take its devices for silent.
//
// When most of a fleet falls silent at once, the fleet is silent (telemetry.Silence), and each of its devices is offline all the
// same. The silence of a fleet ends when enough devices are heard of again, and SilenceLasts after the devices were called offline
// if they never return.
package presence

import (
	"sync"
	"time"
)

// longestRound is how long somebody who listens may go without saying so.
const longestRound = 5 * time.Minute

// Listening knows since when a server has been there to hear devices. The zero value has just begun. It is safe for concurrent use.
type Listening struct {
	mu          sync.Mutex
	since, last time.Time
}

// Since says that the server listens now, and returns since when it does without a gap. A server that was suspended, or whose clock was
// set, has just begun. Call it before every Sweep.
func (l *Listening) Since(now time.Time) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	now = now.Round(0) // the monotonic clock may stand still meanwhile
	if now.Before(l.last) || now.Sub(l.last) > longestRound {
		l.since = now
	}
	l.last = now
	return l.since
}
