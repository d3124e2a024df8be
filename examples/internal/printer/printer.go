// Package printer prints the results of the example programs, with a label for each, identical in
// every run.
package printer

import (
	"fmt"
	"io"
	"iter"
	"sync/atomic"
	"time"
)

// Clock returns a clock that starts on the same day in every run, and advances by a minute with
// each call.
func Clock() func() time.Time {
	var looks atomic.Int64
	return func() time.Time {
		return time.Date(2026, 5, 12, 9, 0, 0, 0, time.UTC).Add(time.Duration(looks.Add(1)) * time.Minute)
	}
}

// A Printer prints results, and keeps the first error.
type Printer struct {
	Out io.Writer
	Err error
}

// Line prints a result.
func (t *Printer) Line(what, format string, args ...any) {
	if t.Err == nil {
		_, t.Err = fmt.Fprintf(t.Out, "%-25s %s\n", what, fmt.Sprintf(format, args...))
	}
}

// One prints an item, or that it does not exist.
func One[T any](t *Printer, what string, v T, err error, text func(T) string) {
	if err != nil {
		t.fail(err)
		return
	}
	t.Line(what, "%s", text(v))
}

// All prints the items of a pattern, one per line.
func All[T any](t *Printer, what string, found iter.Seq2[T, error], text func(T) string) {
	for v, err := range found {
		if err != nil {
			t.fail(err)
			return
		}
		t.Line(what, "%s", text(v))
		what = ""
	}
}

func (t *Printer) fail(err error) {
	if t.Err == nil {
		t.Err = err
	}
}
