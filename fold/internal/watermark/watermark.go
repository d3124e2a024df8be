// Package watermark tracks up to which time a stream shard is folded: every change committed before
// the watermark is in the derived items. A watermark stays valid forever, no matter what happens to
// the worker that found it. So the time since the watermark is never less than the age of the
// oldest change that is not folded.
package watermark

import "time"

// Lag returns the maximum age of a change that is not folded, for a shard with the given watermark.
// Every lag that is shown anywhere is computed by Lag.
func Lag(mark, now time.Time) time.Duration { return max(now.Sub(mark), 0) }

// A Shard computes the watermark of one shard from the actions of a worker. The zero value has
// none.
type Shard struct {
	mark  time.Time
	read  time.Time // every change committed before it has been read since the last Forget
	waits time.Time // commit time of the oldest change that was read and is not durable; zero if there is none
}

// Raise adopts a watermark found elsewhere.
func (s *Shard) Raise(mark time.Time) { s.mark = Latest(s.mark, mark) }

// Read records that every change committed before at has been read.
func (s *Shard) Read(at time.Time) { s.read = Latest(s.read, at) }

// Wait records that a change, committed at the given time, was read. It is not durable before
// Settle.
func (s *Shard) Wait(at time.Time) {
	if s.waits.IsZero() || at.Before(s.waits) {
		s.waits = at
	}
}

// Settle records that everything read is durable, except changes on hold, the oldest of which was
// committed at first. A zero first means that there are none.
func (s *Shard) Settle(first time.Time) { s.waits = first }

// Forget records that the shard will be read again from its checkpoint.
func (s *Shard) Forget() { s.read, s.waits = time.Time{}, time.Time{} }

// Mark returns the watermark, or zero if it is unknown.
func (s *Shard) Mark() time.Time {
	at := s.read
	if !s.waits.IsZero() && s.waits.Before(at) {
		at = s.waits
	}
	s.mark = Latest(s.mark, at)
	return s.mark
}

// Latest returns the later of two times.
func Latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// Turns remembers the start of a worker's latest turns. A change that a read in a turn did not find
// was committed after that start.
type Turns [64]time.Time

// Begin records the start of a turn.
func (t *Turns) Begin(turn uint64, at time.Time) { t[turn%uint64(len(t))] = at }

// At returns the start of a turn, or zero if the turn is too old or after now.
func (t *Turns) At(turn, now uint64) time.Time {
	if turn > now || now-turn >= uint64(len(t)) {
		return time.Time{}
	}
	return t[turn%uint64(len(t))]
}
