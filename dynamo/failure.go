package dynamo

import (
	"errors"
	"time"
)

// FailureKind says why a request was given up.
type FailureKind int

const (
	// Throttled: the store refused the request for its rate, as often as it was sent.
	Throttled FailureKind = iota
	// Crowded: so many requests wait for the store here that this one was not sent.
	Crowded
	// Unreachable: the store did not answer, or with an error of its own; or it did not answer others a moment ago, and
	// this request was not sent.
	Unreachable
	// Moved: the table is at another place now. What was written here may not be there; whoever sends it again to the new place
	// writes it once.
	Moved
	// Full: the store's disk has no room for what adds to it. Nothing was written. Reads and deletes go on.
	Full
)

// A Failure is the error of a request that was sent as often as is good, or not at all. Whoever gets one passes it on: to
// send the request again at once would multiply the load of a store that is in trouble. dynamo/resilient makes them.
type Failure struct {
	Kind  FailureKind
	After time.Duration // when to ask again, above zero
	Err   error         // of the last time that it was sent; nil: it was not sent
}

func (f *Failure) Error() string {
	text := "store_unreachable: the store does not answer; send it again later"
	switch f.Kind {
	case Throttled:
		text = "store_throttled: the store takes no more for the moment; send it again later, at a lower rate"
	case Crowded:
		text = "store_busy: too many requests wait for the store; send it again later, at a lower rate"
	case Full:
		text = "store_full: the disk of the store is nearly full; free space or enlarge it, then send it again"
	case Moved:
		text = "store_moved: the table is at another place now; send it again there"
	}
	if f.Err != nil {
		text += ": " + f.Err.Error()
	}
	return text
}

func (f *Failure) Unwrap() error { return f.Err }

// GaveUp returns the Failure in an error: whoever sent the request has sent it again as often as is good.
func GaveUp(err error) (*Failure, bool) {
	var f *Failure
	ok := errors.As(err, &f)
	return f, ok
}

// IsFull reports whether a write was refused because the store's disk has no room for it. Nothing was written.
func IsFull(err error) bool {
	f, ok := GaveUp(err)
	return ok && f.Kind == Full
}

// IsUnavailable reports whether a request was given up because the store cannot be reached. Whether it was carried out
// all the same is not known.
func IsUnavailable(err error) bool {
	f, ok := GaveUp(err)
	return ok && f.Kind == Unreachable
}
