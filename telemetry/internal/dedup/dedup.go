// Package dedup decides whether two readings with the same sequence number are the same reading.
package dedup

import (
	"slices"
	"strings"
	"time"
)

// Two readings with one number are the same if they are at most Near apart, or if their values are
// equal and they are at most Far apart. Otherwise the device has restarted its numbering.
const (
	Near = 10 * time.Minute
	Far  = 24 * time.Hour
)

// most is how many readings with one number are remembered, the latest ones.
const most = 8

// Reading is a reading with a sequence number.
type Reading struct {
	At  int64  `dynamodbav:"at"`  // time of the reading, epoch milliseconds
	Sum string `dynamodbav:"sum"` // hash of its values
}

// All holds the distinct readings of a device with one number, in order of arrival.
type All []Reading

// Find returns the known reading that s repeats: the nearest one in time.
func (a All) Find(s Reading) (found Reading, ok bool) {
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

// With returns a copy with s added. If there are too many, the oldest is dropped.
func (a All) With(s Reading) All {
	return append(slices.Clone(a[max(0, len(a)-most+1):]), s)
}

func distance(a, b Reading) time.Duration {
	return time.Duration(max(a.At, b.At)-min(a.At, b.At)) * time.Millisecond
}

// MaxSession is the maximum length of a session, in bytes.
const MaxSession = 32

// ValidSession reports whether a session is valid. It is part of keys.
func ValidSession(name string) bool {
	return name != "" && len(name) <= MaxSession && !strings.ContainsFunc(name, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '.' && c != '_' && c != '-'
	})
}
