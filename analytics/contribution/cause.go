package contribution

import (
	"math"

	"github.com/onefold/onefold/analytics"
)

// Cause is the value that made most of a change.
type Cause struct {
	By analytics.Dimension
	Part
}

// A value is named if it made at least leastShare of a change, and its dimension's values shifted by at
// least leastShift of it: otherwise the largest value of any dimension would be named when all
// changed alike.
const (
	leastShare = 0.3
	leastShift = 0.2
)

// Main returns the value that made most of a change, of the dimension whose values shifted most. ok is
// false if no value stands out: if all changed alike, or the values are unknown.
func Main(total Delta, all []Division) (c Cause, ok bool) {
	change := total.Difference().Float()
	if change == 0 {
		return c, false
	}
	for i := range all {
		d := &all[i]
		if d.Shift < leastShift*math.Abs(change) {
			break // they are sorted
		}
		for _, p := range d.Parts {
			if p.Value == analytics.None || p.Value == analytics.Other {
				continue
			}
			if share := p.Difference().Float() / change; share >= leastShare {
				return Cause{d.By, p}, true
			}
		}
	}
	return c, false
}
