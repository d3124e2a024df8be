// Package tell prints what the programs of the examples find: a word of what was asked, and the answer beside it, the same
// in every run. Only they use it.
package tell

import (
	"fmt"
	"io"
	"iter"
	"sync/atomic"
	"time"
)

// Clock is a time that begins on the same day in every run. A minute passes whenever somebody looks at it.
func Clock() func() time.Time {
	var looks atomic.Int64
	return func() time.Time {
		return time.Date(2026, 5, 12, 9, 0, 0, 0, time.UTC).Add(time.Duration(looks.Add(1)) * time.Minute)
	}
}

// A Teller prints, and keeps the first error for the end.
type Teller struct {
	Out io.Writer
	Err error
}

// Line prints an answer.
func (t *Teller) Line(what, format string, args ...any) {
	if t.Err == nil {
		_, t.Err = fmt.Fprintf(t.Out, "%-25s %s\n", what, fmt.Sprintf(format, args...))
	}
}

// One prints an item that may not be there.
func One[T any](t *Teller, what string, v T, err error, text func(T) string) {
	if err != nil {
		t.fail(err)
		return
	}
	t.Line(what, "%s", text(v))
}

// All prints every item that a pattern finds, a line each.
func All[T any](t *Teller, what string, found iter.Seq2[T, error], text func(T) string) {
	for v, err := range found {
		if err != nil {
			t.fail(err)
			return
		}
		t.Line(what, "%s", text(v))
		what = ""
	}
}

func (t *Teller) fail(err error) {
	if t.Err == nil {
		t.Err = err
	}
}
