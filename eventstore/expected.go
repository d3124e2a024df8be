package eventstore

import (
	"errors"
	"fmt"
)

// Expected is the version that a stream must have for an append to succeed. The zero value is Any.
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

// Any accepts any version. It is for facts that do not depend on the past.
func Any() Expected { return Expected{} }

// NoStream expects a stream without events.
func NoStream() Expected { return Expected{form: expectNone} }

// Exists expects a stream with events.
func Exists() Expected { return Expected{form: expectSome} }

// Exact expects exactly n events: nobody has appended since a decision was based on the first n.
// Exact(0) is NoStream.
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

// pinned reports whether the expected version is a certain number.
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

// ErrConflict is returned when a stream does not have the expected version. The error is a
// *Conflict.
var ErrConflict = errors.New("eventstore: the stream does not have the expected version")

// Conflict describes the actual state of the stream.
type Conflict struct {
	ID       ID
	Expected Expected
	Actual   int64
	// Since are the events after the expected version, in order, at most 1,000: what the decision
	// did not know. Events that have been truncated are missing.
	Since []Event
}

func (c *Conflict) Error() string {
	return fmt.Sprintf("eventstore: %s has version %d, expected %s", c.ID, c.Actual, c.Expected)
}

// Unwrap returns ErrConflict.
func (c *Conflict) Unwrap() error { return ErrConflict }

// Errors of appends other than conflicts.
var (
	// ErrClosed is returned when a stream is closed or deleted. No append will ever succeed.
	ErrClosed = errors.New("eventstore: the stream is closed")
	// ErrTooLarge is returned when an event exceeds 400 KB in total, or an append 4 MB or 98
	// events. Nothing was written.
	ErrTooLarge = errors.New("eventstore: too large")
	// ErrCommitReused is returned when a commit ID was used for two different appends.
	ErrCommitReused = errors.New("eventstore: the commit ID belongs to another append")
	// ErrReserved is returned when another aggregate has a value that an append would reserve.
	ErrReserved = errors.New("eventstore: the value is taken")
	// ErrBusy is returned when other writers changed a stream at every attempt of an append that
	// expects no particular version. Retry.
	ErrBusy = errors.New("eventstore: the stream is too busy")
	// ErrHole is returned when an event of a stream is missing: the stream is damaged.
	ErrHole = errors.New("eventstore: an event is missing")
)
