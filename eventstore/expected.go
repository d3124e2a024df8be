package eventstore

import (
	"errors"
	"fmt"
)

// Expected is the version that a stream must have for an append to happen. The zero value is Any.
type Expected struct {
	form    expectedForm
	version int64
}

type expectedForm byte

const (
	expectAny expectedForm = iota
	expectNone
	expectSome
	expectExactly
)

// Any expects nothing. It is for facts that do not depend on the past.
func Any() Expected { return Expected{} }

// NoStream expects that there are no events yet.
func NoStream() Expected { return Expected{form: expectNone} }

// Exists expects that there are events.
func Exists() Expected { return Expected{form: expectSome} }

// Exactly n events are expected: that nobody has appended since a decision was made on the first n. Exact(0) is NoStream.
func Exact(n int64) Expected {
	if n == 0 {
		return NoStream()
	}
	return Expected{expectExactly, n}
}

func (e Expected) String() string {
	switch e.form {
	case expectNone:
		return "no stream"
	case expectSome:
		return "a stream"
	case expectExactly:
		return fmt.Sprintf("version %d", e.version)
	}
	return "anything"
}

// pinned reports whether the version that is expected is known.
func (e Expected) pinned() bool { return e.form == expectNone || e.form == expectExactly }

// meets reports whether a version is as expected.
func (e Expected) meets(version int64) bool {
	switch e.form {
	case expectSome:
		return version > 0
	case expectNone, expectExactly:
		return version == e.version
	}
	return true
}

// ErrConflict is returned when a stream has not the version that was expected. The error is a *Conflict.
var ErrConflict = errors.New("eventstore: the stream has another version than expected")

// Conflict says what was there instead.
type Conflict struct {
	ID       ID
	Expected Expected
	Actual   int64
	// Since are the events after the version that was expected, in order, at most 1,000: what the decision did not know.
	// Those that were truncated since are not among them.
	Since []Event
}

func (c *Conflict) Error() string {
	return fmt.Sprintf("eventstore: %s has version %d, expected %s", c.ID, c.Actual, c.Expected)
}

// Unwrap makes a conflict an ErrConflict.
func (c *Conflict) Unwrap() error { return ErrConflict }

// Errors of appends that are no conflicts.
var (
	// ErrClosed is returned when a stream was closed or deleted: no append will ever succeed.
	ErrClosed = errors.New("eventstore: the stream is closed")
	// ErrTooLarge is returned when an event takes more than 400 KB with all that goes with it, or an append more than 4 MB
	// or 98 events. Nothing was written.
	ErrTooLarge = errors.New("eventstore: too large")
	// ErrCommitReused is returned when a commit id was given to two appends that are not the same.
	ErrCommitReused = errors.New("eventstore: the commit id belongs to another append")
	// ErrReserved is returned when another aggregate has a value that an append would reserve.
	ErrReserved = errors.New("eventstore: the value is taken")
	// ErrBusy is returned when other writers kept changing a stream in all attempts of an append that expects no certain
	// version. Try again.
	ErrBusy = errors.New("eventstore: the stream is too busy")
	// ErrHole is returned when an event is missing in a stream: it is damaged.
	ErrHole = errors.New("eventstore: an event is missing")
)
