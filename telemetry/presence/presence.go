// Package presence detects which devices are online, and which fleets fell silent as a whole. Call
// Sweep regularly.
//
// A device is online while it sends as often as expected; telemetry.Status.At has the rule. Past
// readings do not count, whenever they arrive. Nothing arrives while no server listens, so silence
// counts from Listening.Since at the earliest: a server that was down for hours does not declare
// its devices silent.
//
// If most of a fleet falls silent at once, the fleet is silent (telemetry.Silence), and each of its
// devices is offline as well. The silence ends when enough devices send again, or SilenceLasts
// after the devices went offline if they never return.
package presence

import (
	"sync"
	"time"
)

// longestRound is the longest time between calls of Since that counts as continuous listening.
const longestRound = 5 * time.Minute

// Listening tracks since when a server has been listening for devices. The zero value starts with
// the first call of Since. It is safe for concurrent use.
type Listening struct {
	mu          sync.Mutex
	since, last time.Time
}

// Since records that the server is listening at now, and returns since when it has done so without
// a gap. A server that was suspended, or whose clock was set, starts over. Call it before every
// Sweep.
func (l *Listening) Since(now time.Time) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	now = now.Round(0) // the monotonic clock may stand still during suspension
	if now.Before(l.last) || now.Sub(l.last) > longestRound {
		l.since = now
	}
	l.last = now
	return l.since
}
