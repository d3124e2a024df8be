package devicesim

import "time"

// Fault is what went wrong with a message.
type Fault string

// The faults of single readings.
const (
	SentTwice      Fault = "twice"     // sent again at once
	SentAfterHour  Fault = "hour"      // sent again after an hour
	SentAfterDay   Fault = "day"       // sent again after 25 hours
	SameTime       Fault = "same-time" // another reading in the same millisecond
	NotANumber     Fault = "nan"       // the number is NaN
	TextForNumber  Fault = "text"      // a text in place of the number
	WrongUnit      Fault = "unit"      // in another unit than agreed, which the reading names
	FoundInADrawer Fault = "expired"   // a reading of 31 days ago, together with the current one
)

// The lasting faults.
const (
	WasOffline   Fault = "offline" // no contact, then everything at once, newest first
	ClockAhead   Fault = "ahead"   // its clock is seven minutes ahead
	ClockBehind  Fault = "behind"  // its clock is 55 minutes behind
	ClockNeverOn Fault = "1970"    // its clock counts from 1970
)

// Faults lists all faults. A counter that restarts at zero is not a fault: real devices do that,
// and it is part of what they measure.
var Faults = []Fault{
	SentTwice, SentAfterHour, SentAfterDay, SameTime, NotANumber, TextForNumber, WrongUnit, FoundInADrawer,
	WasOffline, ClockAhead, ClockBehind, ClockNeverOn,
}

// Lasts reports whether a fault affects the readings of a period instead of a single one.
func (f Fault) Lasts() bool {
	return f == WasOffline || f == ClockAhead || f == ClockBehind || f == ClockNeverOn
}

// Expectation is how a receiver should treat a message that arrives, if it keeps readings for 30 days and
// accepts late readings and clocks that are ten minutes ahead.
type Expectation string

// The expectations.
const (
	Counts  Expectation = "counts"  // counts, at the time that the message has
	Repeats Expectation = "repeats" // repeats a message that was received before
	Refused Expectation = "refused" // cannot be right, and counts nowhere
)

// Errors of clocks. The odd milliseconds distinguish such readings from those that were really
// measured then.
const (
	aheadBy  = 7*time.Minute - 211*time.Millisecond
	behindBy = 55*time.Minute - 137*time.Millisecond
	oldBy    = 31*24*time.Hour + 401*time.Millisecond
)

// expectation returns the expectation for a message with a fault of its own; repetitions have theirs.
func (f Fault) expectation() Expectation {
	switch f {
	case NotANumber, TextForNumber, WrongUnit, FoundInADrawer, ClockNeverOn:
		return Refused
	}
	return Counts
}
