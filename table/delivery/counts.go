package delivery

import "sync/atomic"

// Counts are the numbers of attempts that an Outbox of this process has recorded since the process
// started, by result. The zero value is ready to use.
type Counts struct {
	Sent    atomic.Int64
	Failed  atomic.Int64 // attempts that will be repeated
	Dead    atomic.Int64 // last attempts that failed; their messages are dead letters
	Skipped atomic.Int64 // messages that were no longer wanted
}

// add counts the result that a message has after an attempt.
func (c *Counts) add(s *Status) {
	if c == nil {
		return
	}
	switch s.State {
	case Sent:
		c.Sent.Add(1)
	case Skipped:
		c.Skipped.Add(1)
	case Dead:
		c.Dead.Add(1)
	case Waiting:
		c.Failed.Add(1)
	}
}
