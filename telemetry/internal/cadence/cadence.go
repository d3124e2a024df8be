// Package cadence estimates the interval at which a device reports, from the times of its last readings.
package cadence

import (
	"cmp"
	"slices"
	"time"
)

const (
	kept = 24 // arrivals that are remembered
	// slot is the number of seconds whose arrivals count as one. It is a third of LeastPause, so a shorter rhythm would make no
	// difference, and a device that uploads what it stored within a minute or two is not taken for one that sends every second.
	slot = 30
)

// Pulse holds the last arrivals, in epoch seconds and in order: the last one of each slot.
//
// Invariant: it holds the last arrival of each of the latest 24 slots, in whatever order and grouping arrivals were added: the
// latest slots of a union are among the latest of its parts.
type Pulse []int64

// Add adds an arrival.
func (p *Pulse) Add(at int64) {
	i, found := slices.BinarySearchFunc(*p, at, func(have, at int64) int { return cmp.Compare(have/slot, at/slot) })
	if found {
		(*p)[i] = max((*p)[i], at)
		return
	}
	if i == 0 && len(*p) >= kept {
		return
	}
	*p = slices.Insert(*p, i, at)
	if n := len(*p); n > kept {
		*p = slices.Delete(*p, 0, n-kept)
	}
}

// Merge adds the arrivals of another pulse.
func (p *Pulse) Merge(o Pulse) {
	for _, at := range o {
		p.Add(at)
	}
}

// Until drops arrivals after a time.
func (p *Pulse) Until(at int64) {
	*p = slices.DeleteFunc(*p, func(have int64) bool { return have > at })
}

// Rhythm is the time that passes between two arrivals: four of five are no longer. So neither an outage nor what comes
// in bursts makes much of a difference. 0: fewer than three arrivals say nothing.
func (p Pulse) Rhythm() time.Duration {
	if len(p) < 3 {
		return 0
	}
	gaps := make([]int64, len(p)-1)
	for i := range gaps {
		gaps[i] = p[i+1] - p[i]
	}
	slices.Sort(gaps)
	return time.Duration(gaps[(len(gaps)*4-1)/5]) * time.Second
}

// LeastPause is no silence, however often something is heard of.
const LeastPause = 90 * time.Second

const (
	missedBeats = 3                // that may be missed
	unknownBeat = 15 * time.Minute // of which too little is known
)

// Patience is how long nothing is heard before that is silence, by how often something should be heard; 0: nobody knows.
func Patience(beat time.Duration) time.Duration {
	if beat == 0 {
		beat = unknownBeat
	}
	return max(missedBeats*beat, LeastPause)
}
