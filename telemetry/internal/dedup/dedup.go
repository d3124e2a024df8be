// Package dedup decides whether two readings with one sequence number are the same reading.
package dedup

import (
	"slices"
	"strings"
	"time"
)

// Two readings with one number are the same if they are at most Near apart, or if they say the same and are at most Far apart.
// Anything else is a counter that began again.
const (
	Near = 10 * time.Minute
	Far  = 24 * time.Hour
)

// most is how many readings with one number are remembered: those that were seen last.
const most = 8

// Sighting is a reading that bears a number.
type Sighting struct {
	At  int64  `dynamodbav:"at"`  // its time, in epoch milliseconds
	Sum string `dynamodbav:"sum"` // of its values: two that say the same have the same
}

// All are the distinct readings of a device with one number, in the order in which they came.
type All []Sighting

// Find returns the reading that another one is the same as: the nearest in time.
func (a All) Find(s Sighting) (found Sighting, ok bool) {
	for _, other := range a {
		apart := distance(s, other)
		if apart <= Near || apart <= Far && s.Sum == other.Sum {
			if !ok || apart < distance(s, found) {
				found, ok = other, true
			}
		}
	}
	return found, ok
}

// With returns the readings with one more. The oldest gives way.
func (a All) With(s Sighting) All {
	return append(slices.Clone(a[max(0, len(a)-most+1):]), s)
}

func distance(a, b Sighting) time.Duration {
	return time.Duration(max(a.At, b.At)-min(a.At, b.At)) * time.Millisecond
}

// MaxSession is how long a session's name may be, in bytes.
const MaxSession = 32

// ValidSession reports whether a session can have the name. It is part of keys.
func ValidSession(name string) bool {
	return name != "" && len(name) <= MaxSession && !strings.ContainsFunc(name, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '.' && c != '_' && c != '-'
	})
}
