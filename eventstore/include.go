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

// inclusion is a function of Include.
type inclusion func(tx *table.Tx, events []Event) error

// Include adds operations on other items of the table to the transaction of the append, for example to
// update a read model in the same moment (an inline projection). add is called with the events, which
// have their numbers, and again with other numbers if the append is tried again; it must have no other
// effects. In the options of AppendAll and TransactQuery it is called once, with the events of all
// aggregates; in those of one aggregate with its events only. An append has at most 100 operations, see
// Store.AppendAll. The item of a head, a page or anything else of this package must not be among them.
// It cannot be used in put mode.
func Include(add func(tx *table.Tx, events []Event) error) AppendOption {
	return func(a *appending) { a.includes = append(a.includes, add) }
}

func (j *multiAppend) hasIncludes() bool {
	return len(j.includes) > 0 || slices.ContainsFunc(j.parts, func(a *appending) bool { return len(a.includes) > 0 })
}

// include adds the included operations of each part, then those of the whole append.
func (j *multiAppend) include(tx *table.Tx) error {
	if !j.hasIncludes() {
		return nil
	}
	var all []Event
	for i, a := range j.parts {
		events := slices.Clone(j.plain[i])
		for k := range events {
			events[k].Seq, events[k].Hash = a.events[k].Seq, a.events[k].Hash
		}
		if err := addIncluded(tx, a.includes, events); err != nil {
			return err
		}
		all = append(all, events...)
	}
	if err := addIncluded(tx, j.includes, all); err != nil {
		return err
	}
	if tx.Len() > maxOperations {
		return fmt.Errorf("%w: with the included operations the append needs %d; a transaction has at most %d", ErrTooLarge, tx.Len(), maxOperations)
	}
	return nil
}

func addIncluded(tx *table.Tx, includes []inclusion, events []Event) error {
	for _, add := range includes {
		if err := add(tx, events); err != nil {
			return &includeError{err}
		}
	}
	return nil
}

// includeError is the error of a function of Include.
type includeError struct{ error }

func (e *includeError) Unwrap() error { return e.error }
