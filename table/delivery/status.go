package delivery

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/onefold/onefold/internal/webhook"
)

const (
	maxAttempts = 12 // over about five hours
	claimFor    = 2 * time.Minute
	firstPause  = 10 * time.Second
	longPause   = time.Hour
	maxError    = 500 // bytes
	keepSent    = 30 * 24 * time.Hour
	keepDead    = 90 * 24 * time.Hour
)

// State is the delivery state of a stored message.
type State string

// The delivery states.
const (
	Waiting State = "waiting"
	Sent    State = "sent"
	Skipped State = "skipped" // it was no longer wanted, or the channel is gone
	Dead    State = "dead"    // dead letter: all attempts failed
)

// Status is the delivery status of a stored message. Items embed it, and are in an index by Due while
// their state is Waiting.
type Status struct {
	State     State     `dynamodbav:"state"`
	Due       time.Time `dynamodbav:"due"` // time of the next attempt
	Attempts  int       `dynamodbav:"attempts,omitempty"`
	LastError string    `dynamodbav:"lastError,omitempty"`
	CreatedAt time.Time `dynamodbav:"createdAt"`
	SentAt    time.Time `dynamodbav:"sentAt,omitempty"`
	ExpiresAt time.Time `dynamodbav:"ttl,unixtime,omitempty"` // set once it is completed
}

// NewStatus returns the status of a message to send at once.
func NewStatus(now time.Time) Status {
	now = now.UTC().Truncate(time.Millisecond)
	return Status{State: Waiting, Due: now, CreatedAt: now}
}

var errNotDue = errors.New("delivery: not due")

// claim reserves the next attempt for the caller. If a process died in the last attempt, there is
// none left, and the message is dead: it may be what the process died of.
func (s *Status) claim(now time.Time) error {
	if s.State != Waiting || s.Due.After(now) {
		return errNotDue
	}
	if s.Attempts >= maxAttempts {
		s.State, s.ExpiresAt = Dead, now.UTC().Add(keepDead)
		s.LastError = "the process ended during the last attempt, or could not record its result"
		return nil
	}
	s.Due, s.Attempts = now.UTC().Add(claimFor).Truncate(time.Millisecond), s.Attempts+1
	return nil
}

// settle records the result of an attempt.
func (s *Status) settle(now time.Time, skip bool, failed error, random float64) {
	now = now.UTC().Truncate(time.Millisecond)
	switch {
	case skip:
		s.State, s.ExpiresAt = Skipped, now.Add(keepSent)
	case failed == nil:
		s.State, s.SentAt, s.LastError, s.ExpiresAt = Sent, now, "", now.Add(keepSent)
	default:
		text := failed.Error()
		s.LastError = strings.ToValidUTF8(text[:min(len(text), maxError)], "?")
		if s.Attempts >= maxAttempts {
			s.State, s.ExpiresAt = Dead, now.Add(keepDead)
			return
		}
		s.Due = now.Add(pause(s.Attempts, failed, random)).Truncate(time.Millisecond)
	}
}

// pause returns the time until the next attempt: twice as long each time, or as long as the receiver
// asks for. Half of it is random, so that messages that failed together are not repeated together.
func pause(attempts int, failed error, random float64) time.Duration {
	most := min(firstPause<<min(attempts-1, 20), longPause)
	wait := most/2 + time.Duration(random*float64(most/2))
	var status *webhook.StatusError
	if errors.As(failed, &status) {
		if seconds, err := strconv.Atoi(status.RetryAfter); err == nil && seconds > 0 {
			wait = max(wait, min(time.Duration(min(seconds, 86_400))*time.Second, longPause))
		}
	}
	return wait
}

// Resend makes a dead-lettered or skipped message due again. Others stay as they are.
func (s *Status) Resend(now time.Time) {
	if s.State == Dead || s.State == Skipped {
		s.State, s.Attempts, s.Due, s.ExpiresAt = Waiting, 0, now.UTC().Truncate(time.Millisecond), time.Time{}
	}
}
