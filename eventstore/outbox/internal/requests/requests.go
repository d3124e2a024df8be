// Package requests divides events among the requests of AWS services, which limit their number and
// size and accept some events of a request while they refuse others.
package requests

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/onefold/onefold/eventstore/subscription"
)

// MaxEntries is the maximum number of entries of a request, for EventBridge and SNS.
const MaxEntries = 10

// Limits are those of a service.
type Limits struct {
	Bytes   int      // maximum size of a request
	Invalid []string // error codes that say that an entry or a request is invalid
}

// Entry is an entry of a request.
type Entry[T any] struct {
	Value T
	Size  int // bytes that count for Limits.Bytes
}

// ErrTooLarge is the error of an entry that no request can contain.
var ErrTooLarge = errors.New("the event is too large")

// Failure is the error of one entry, as the service returned it.
type Failure struct{ Code, Message string }

func (f *Failure) Error() string { return f.Code + ": " + f.Message }

// ErrorCode returns the code, as errors of the AWS SDK do.
func (f *Failure) ErrorCode() string { return f.Code }

// Send sends entries in as few requests as the limits allow, and returns the error of each entry,
// nil if it was accepted. put sends a request; it returns an error of the whole request, or one per
// entry. If a service finds a whole request invalid, its entries are sent one by one. After any other
// failed request, no more are sent.
//
// Only errors of single entries are permanent: a request can also be invalid because of the name of
// a bus or topic, for which no event is to be blamed.
func Send[T any](ctx context.Context, all []Entry[T], limits Limits, put func(context.Context, []T) ([]error, error)) []error {
	errs := make([]error, 0, len(all))
	for alone := 0; len(errs) < len(all); {
		rest := all[len(errs):]
		if rest[0].Size > limits.Bytes {
			errs = append(errs, subscription.Permanent(fmt.Errorf("%w: %d bytes of at most %d", ErrTooLarge, rest[0].Size, limits.Bytes)))
			continue
		}
		n := fit(rest, limits.Bytes)
		if alone > 0 {
			alone, n = alone-1, 1
		}
		values := make([]T, n)
		for i := range values {
			values[i] = rest[i].Value
		}
		each, err := put(ctx, values)
		switch {
		case err != nil && n > 1 && limits.invalid(err):
			alone = n
			continue
		case err != nil:
			return append(errs, slices.Repeat([]error{err}, len(rest))...)
		}
		for i := range n {
			errs = append(errs, limits.judge(each, i))
		}
	}
	return errs
}

// errNoResult is the error of an entry for which a response has no result.
var errNoResult = errors.New("the response has no result for the event")

// judge returns the error of an entry, marked if it is permanent.
func (l *Limits) judge(each []error, i int) error {
	switch {
	case i >= len(each):
		return errNoResult
	case each[i] != nil && l.invalid(each[i]):
		return subscription.Permanent(each[i])
	}
	return each[i]
}

func (l *Limits) invalid(err error) bool {
	var coded interface{ ErrorCode() string }
	return errors.As(err, &coded) && slices.Contains(l.Invalid, coded.ErrorCode())
}

// fit returns how many entries, at least one, go into a request.
func fit[T any](all []Entry[T], most int) int {
	size := 0
	for n := range min(len(all), MaxEntries) {
		if size += all[n].Size; size > most && n > 0 {
			return n
		}
	}
	return min(len(all), MaxEntries)
}
