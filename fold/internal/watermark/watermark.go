// Package watermark tells up to which time a stream shard is folded: every change that was committed before its watermark
// is in the derived items. A watermark stays true for ever, whatever becomes of the worker that found it, so the time
// since then is never less than the age of the oldest change that is not folded. It is for package fold.
package watermark

import "time"

// Lag returns how old the oldest change is at most that is not folded, at a time, of a shard with a watermark. Everything
// that shows a lag shows this.
func Lag(mark, now time.Time) time.Duration { return max(now.Sub(mark), 0) }

// A Shard finds the watermark of one shard from what a worker does with it. The zero value knows nothing.
type Shard struct {
	mark  time.Time
	read  time.Time // every change committed before it has been read since the last Forget
	waits time.Time // when the oldest change was committed that was read and is not durable; zero: there is none
}

// Raise takes over a watermark that somebody else found.
func (s *Shard) Raise(mark time.Time) { s.mark = Latest(s.mark, mark) }

// Read notes that every change that was committed before at has been read.
func (s *Shard) Read(at time.Time) { s.read = Latest(s.read, at) }

// Wait notes that a change was read, and when it was committed. It is not durable before Settle.
func (s *Shard) Wait(at time.Time) {
	if s.waits.IsZero() || at.Before(s.waits) {
		s.waits = at
	}
}

// Settle notes that what was read is durable, but for changes that wait on, the oldest of which was committed at first.
// first is zero if there are none.
func (s *Shard) Settle(first time.Time) { s.waits = first }

// Forget notes that the shard will be read again from its checkpoint.
func (s *Shard) Forget() { s.read, s.waits = time.Time{}, time.Time{} }

// Mark returns the watermark, zero if there is none yet.
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

// Turns remembers when a worker's latest turns began. What a turn's read did not find was committed after that.
type Turns [64]time.Time

// Begin notes when a turn began.
func (t *Turns) Begin(turn uint64, at time.Time) { t[turn%uint64(len(t))] = at }

// At returns when a turn began that is one of the latest up to now, and zero for one of before.
func (t *Turns) At(turn, now uint64) time.Time {
	if turn > now || now-turn >= uint64(len(t)) {
		return time.Time{}
	}
	return t[turn%uint64(len(t))]
}
