package eventstore

import (
	"errors"
	"fmt"
	"slices"

	"github.com/onefold/onefold/table"
)

// ErrIncluded is returned when a condition of an operation that Include added does not hold. Nothing
// was appended.
var ErrIncluded = errors.New("eventstore: a condition of an included operation does not hold")

// Include adds operations on other items of the table to the transaction of the append, for example to
// update a read model in the same moment (an inline projection). add is called with the events, which
// have their numbers, and again with other numbers if the append is tried again; it must have no other
// effects. An append has at most 100 operations, see Store.AppendAll. The item of a head, a page or
// anything else of this package must not be among them. It cannot be used in put mode.
func Include(add func(tx *table.Tx, events []Event) error) AppendOption {
	return func(a *appending) { a.includes = append(a.includes, add) }
}

// include adds the included operations of all parts.
func (j *multiAppend) include(tx *table.Tx) error {
	for i, a := range j.parts {
		if len(a.includes) == 0 {
			continue
		}
		events := slices.Clone(j.plain[i])
		for k := range events {
			events[k].Seq, events[k].Hash = a.events[k].Seq, a.events[k].Hash
		}
		for _, add := range a.includes {
			if err := add(tx, events); err != nil {
				return &includeError{err}
			}
		}
	}
	if tx.Len() > maxOperations {
		return fmt.Errorf("%w: with the included operations the append needs %d; a transaction has at most %d", ErrTooLarge, tx.Len(), maxOperations)
	}
	return nil
}

// includeError is the error of a function of Include.
type includeError struct{ error }

func (e *includeError) Unwrap() error { return e.error }
