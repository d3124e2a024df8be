package explore

import (
	"errors"

	"github.com/onefold/onefold/table"
)

var (
	// ErrQuestion is returned when a question cannot be asked like that: a malformed range, filter or funnel. The
	// message says what to write instead.
	ErrQuestion = errors.New("explore: question")
	// ErrTooMuch is returned when an answer would take more events or memory than one question may. The message says how
	// to ask for less.
	ErrTooMuch = errors.New("explore: too much for one question")
	// ErrGone is returned when none of the raw events of a range are left.
	ErrGone = errors.New("explore: the raw events are gone")
	// ErrArchive is returned when the archive does not answer, and only it has the raw events that were asked for.
	ErrArchive = errors.New("explore: the archive does not answer")

	// errEnough ends a scan that has found what it was for.
	errEnough = errors.New("explore: enough")
)

func isNotFound(err error) bool { return errors.Is(err, table.ErrNotFound) }
