package devicesim

import "time"

// Fault is what went wrong with a message.
type Fault string

// The faults of single readings.
const (
	SentTwice      Fault = "twice"     // again at once
	SentAfterHour  Fault = "hour"      // again after an hour
	SentAfterDay   Fault = "day"       // again after 25 hours
	SameTime       Fault = "same-time" // another reading in the same millisecond
	NotANumber     Fault = "nan"       // the number is NaN
	TextForNumber  Fault = "text"      // a text stands where the number should
	WrongUnit      Fault = "unit"      // in another unit than agreed, and saying so
	FoundInADrawer Fault = "expired"   // a reading of 31 days ago comes beside the one of now
)

// The faults that last for a while.
const (
	WasOffline   Fault = "offline" // nothing was heard of it, then everything at once, the newest first
	ClockAhead   Fault = "ahead"   // its clock is seven minutes ahead
	ClockBehind  Fault = "behind"  // its clock is 55 minutes behind
	ClockNeverOn Fault = "1970"    // its clock counts from 1970
)

// Faults are all faults. That counters begin at zero again is none: devices do that, and it belongs to what they measure.
var Faults = []Fault{
	SentTwice, SentAfterHour, SentAfterDay, SameTime, NotANumber, TextForNumber, WrongUnit, FoundInADrawer,
	WasOffline, ClockAhead, ClockBehind, ClockNeverOn,
}

// Lasts reports whether a fault hits the readings of a while, not a single one.
func (f Fault) Lasts() bool {
	return f == WasOffline || f == ClockAhead || f == ClockBehind || f == ClockNeverOn
}

// Fate is what a receiver has to make of a message that it gets when the message arrives, if it keeps readings for 30 days,
// takes late ones, and clocks that are ten minutes ahead.
type Fate string

// The fates.
const (
	Counts  Fate = "counts"  // at the time that the message says
	Repeats Fate = "repeats" // what was there already
	Refused Fate = "refused" // it cannot be right, and counts nowhere
)

// How far clocks are off. The odd milliseconds keep such a reading apart from those that were really measured then.
const (
	aheadBy  = 7*time.Minute - 211*time.Millisecond
	behindBy = 55*time.Minute - 137*time.Millisecond
	oldBy    = 31*24*time.Hour + 401*time.Millisecond
)

// fate is that of a message with a fault that is its own doing; repetitions have their own.
func (f Fault) fate() Fate {
	switch f {
	case NotANumber, TextForNumber, WrongUnit, FoundInADrawer, ClockNeverOn:
		return Refused
	}
	return Counts
}
