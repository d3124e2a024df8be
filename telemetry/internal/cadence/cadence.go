// Package cadence estimates the expected interval of a device from its recent arrivals.
package cadence

import (
	"cmp"
	"slices"
	"time"
)

const (
	kept = 24 // remembered arrivals
	// slot is the number of seconds whose arrivals count as one. It is a third of MinTimeout, so a
	// finer slot would make no difference. It also keeps a device that uploads stored readings
	// within a minute or two from looking like one that sends every second.
	slot = 30
)

// Arrivals holds recent arrivals in epoch seconds, sorted: the last arrival of each slot.
//
// Invariant: it holds the last arrival of each of the latest 24 slots, in whatever order and
// grouping arrivals were added, because the latest slots of a union are among the latest of its
// parts.
type Arrivals []int64

// Add adds an arrival.
func (p *Arrivals) Add(at int64) {
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
func (p *Arrivals) Merge(o Arrivals) {
	for _, at := range o {
		p.Add(at)
	}
}

// Until drops arrivals after a time.
func (p *Arrivals) Until(at int64) {
	*p = slices.DeleteFunc(*p, func(have int64) bool { return have > at })
}

// Interval returns the expected interval: the 80th percentile of the gaps between arrivals, so that
// neither outages nor bursts have much effect. It returns 0 for fewer than three arrivals.
func (p Arrivals) Interval() time.Duration {
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

// MinTimeout is the shortest pause that can count as silence.
const MinTimeout = 90 * time.Second

const (
	missedBeats = 3                // expected intervals without arrivals
	unknownBeat = 15 * time.Minute // assumed if the interval is unknown
)

// SilenceTimeout returns how long a device may be quiet before it counts as offline; beat is the expected
// interval, 0 if unknown.
func SilenceTimeout(beat time.Duration) time.Duration {
	if beat == 0 {
		beat = unknownBeat
	}
	return max(missedBeats*beat, MinTimeout)
}
