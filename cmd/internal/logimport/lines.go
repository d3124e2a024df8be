package logimport

import (
	"iter"

	"github.com/onefold/onefold/internal/accesslog"
)

// lines are the lines of a log, or the rows of an export with the number of each row's first line.
// An error that wraps accesslog.ErrMalformed concerns one line; any other error is the last
// element.
type lines = iter.Seq2[accesslog.Line, error]
