package explore

import (
	"errors"

	"github.com/onefold/onefold/table"
)

var (
	// ErrQuestion is returned for an invalid question: a malformed range, filter or funnel. The
	// message says what is allowed.
	ErrQuestion = errors.New("explore: question")
	// ErrTooMuch is returned when an answer would need more events or memory than one question may
	// use. The message says how to ask for less.
	ErrTooMuch = errors.New("explore: too many events for one request")
	// ErrGone is returned when all raw events of a range have expired.
	ErrGone = errors.New("explore: the raw events have expired")
	// ErrArchive is returned when the archive fails and the table does not have the requested
	// events.
	ErrArchive = errors.New("explore: the archive is unavailable")

	// errEnough stops a scan that found enough.
	errEnough = errors.New("explore: enough")
)

func isNotFound(err error) bool { return errors.Is(err, table.ErrNotFound) }
