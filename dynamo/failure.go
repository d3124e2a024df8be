package dynamo

import (
	"errors"
	"time"
)

// FailureKind is the reason why a request was given up.
type FailureKind int

const (
	// Throttled: the store throttled the request every time it was sent.
	Throttled FailureKind = iota
	// Crowded: the request was not sent, because too many requests in this process are waiting for
	// the store.
	Crowded
	// Unreachable: the store did not respond, or responded with an internal error. Or it did not
	// respond to others shortly before, and this request was not sent.
	Unreachable
	// Moved: the table has moved to another store. The write may be missing there; sending it again
	// to the new store writes it exactly once.
	Moved
	// Full: the store's disk has no space for writes that add data. Nothing was written. Reads and
	// deletes still work.
	Full
)

// A Failure is the error of a request that was repeated as often as reasonable, or not sent at all.
// Callers should pass it on: sending the request again at once would multiply the load on a store
// in trouble. Failures come from dynamo/resilient.
type Failure struct {
	Kind  FailureKind
	After time.Duration // when to try again; positive
	Err   error         // error of the last attempt; nil if the request was not sent
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

// GaveUp returns the Failure in an error, if any. The request has then been repeated as often as
// reasonable.
func GaveUp(err error) (*Failure, bool) {
	var f *Failure
	ok := errors.As(err, &f)
	return f, ok
}

// IsFull reports whether a write was rejected because the store's disk is full. Nothing was
// written.
func IsFull(err error) bool {
	f, ok := GaveUp(err)
	return ok && f.Kind == Full
}

// IsUnavailable reports whether a request was given up because the store is unreachable. It may
// nevertheless have taken effect.
func IsUnavailable(err error) bool {
	f, ok := GaveUp(err)
	return ok && f.Kind == Unreachable
}
